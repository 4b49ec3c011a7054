// Bundles src/report.js with the libraries it draws with into dist/report.js:
//
//     npm ci && node build.js
//
// Reports carry the bundle, and so hand it on to others: the notices of every
// library in it stand at its end.
import * as esbuild from 'esbuild';
import {existsSync, readFileSync, readdirSync, renameSync, writeFileSync} from 'node:fs';

const built = await esbuild.build({
  entryPoints: ['src/report.js'],
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['chrome100', 'firefox100', 'safari15'],
  charset: 'ascii', // whatever the page is served as
  legalComments: 'none', // the licences themselves stand at the end
  metafile: true,
  write: false,
  outdir: 'dist',
  loader: {'.css': 'text'},
});

// Only what is in the bundle, not all that was looked at to make it.
const [output] = Object.values(built.metafile.outputs);
const packages = new Set();
for (const [path, {bytesInOutput}] of Object.entries(output.inputs)) {
  const inside = path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (inside && bytesInOutput > 0) packages.add(inside[1]);
}

// Many share the text of a licence: it is given once, below their names.
const notices = new Map();
for (const name of [...packages].sort()) {
  const dir = `node_modules/${name}`;
  const {version, license} = JSON.parse(readFileSync(`${dir}/package.json`, 'utf8'));
  const file = readdirSync(dir).find((f) => /^licen[cs]e/i.test(f));
  if (!file) throw new Error(`${name} ${version} (${license}) comes without the text of its licence: reports may not carry it`);
  const text = readFileSync(`${dir}/${file}`, 'utf8').replaceAll('*/', '* /').trim();
  notices.set(text, [...(notices.get(text) ?? []), `${name} ${version}`]);
}
const legal = [...notices].map(([text, names]) => `${names.join(', ')}:\n\n${text}`).join('\n\n----\n\n');

const script = `${built.outputFiles[0].text}/*! This script is bundled with the following.\n\n${legal}\n*/\n`;
if (/<\/script|<!--/i.test(script)) throw new Error('the bundle would end, or comment out, the page that it stands in');
// Renamed into place, so that nobody embeds half of it.
writeFileSync('node_modules/.report.js', script);
renameSync('node_modules/.report.js', 'dist/report.js');
if (!existsSync('dist/README')) throw new Error('dist/README is gone: git needs it to keep the directory');
console.log(`web/dist/report.js: ${Math.round(script.length / 1024)} KiB with ${packages.size} libraries`);
