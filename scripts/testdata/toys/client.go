package client

import "context"

// dialToy connects to the toy, which knows no record.
func dialToy(context.Context, Config) (Client, error) { return toyClient{}, nil }

type toyClient struct{}

func (toyClient) Read(context.Context, []byte, int) ([]byte, error) { return nil, ErrNotFound }

func (toyClient) Scan(context.Context, []byte, int, int) (int, error) { return 0, nil }

func (toyClient) Update(context.Context, []byte, int, []byte) error { return ErrNotFound }

func (toyClient) Insert(context.Context, []byte, []byte) error { return nil }

func (toyClient) Close() error { return nil }
