#!/usr/bin/env bash
# Writes kubernetes/go-MINOR.mod and its sums, by which the module kubernetes is compiled with a release of Kubernetes
# other than that of its go.mod:
#
#     scripts/kube-minor.sh 1.37.2
#
# All other requirements are those of go.mod, or newer ones that the release takes. make kube-build MINOR=1.37 uses it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../kubernetes"

release=${1-}
[[ $release =~ ^1\.[0-9]+\.[0-9]+$ ]] || { echo "usage: scripts/kube-minor.sh 1.MINOR.PATCH" >&2; exit 2; }
go() { ../scripts/with-go go "$@"; }
minor=${release%.*}
mod=go-$minor.mod
current=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }' go.mod)

# Kubernetes requires the modules of its tree as v0.0.0: each is published with the release's number.
described=$(go mod download -json "k8s.io/kubernetes@v$release")
of_release=$(sed -n 's/^\t"GoMod": "\(.*\)",*$/\1/p' <<<"$described")
staging=$(awk -v to="v0.${release#1.}" '$1 ~ /^k8s\.io\// && $2 == "v0.0.0" { print "\t" $1 " => " $1 " " to }' "$of_release")

{
	sed "/^\/\/ The staging modules/,\$d; /\/\/ indirect/d
		s/\(k8s\.io\/kubernetes\) $current/\1 v$release/; s/ v0\.${current#v1.}\$/ v0.${release#1.}/" go.mod
	printf '// The staging modules of k8s.io/kubernetes are of its release.\nreplace (\n%s\n)\n' "$staging"
} >"$mod"
cp go.sum "${mod%.mod}.sum"
# An older one does not compile with the runtime-spec that Kubernetes takes from 1.36 on.
go mod edit -modfile="$mod" -require=github.com/containerd/nri@v0.11.0
go mod tidy -modfile="$mod"
