package pgtest

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/selfregulating/sr/connectors/postgres/pglocal"
)

// settings make a server small and careless: what a test writes need not outlive the machine. It outlives a killed
// server all the same.
var settings = map[string]string{
	"fsync":              "off",
	"synchronous_commit": "off",
	"shared_buffers":     "32MB",
	"max_connections":    "200",
	"max_wal_size":       "256MB",
	"min_wal_size":       "32MB",
	"autovacuum_naptime": "10s",
}

// start runs a server in a new folder of its own, which remove gives back.
func start() (server *pglocal.Server, remove func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir, remove, err := claim(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for it: %w", err)
	}
	server, err = pglocal.Start(ctx, pglocal.Config{Dir: filepath.Join(dir, "pg"), Settings: settings})
	if err != nil {
		remove()
		return nil, nil, err
	}
	return server, remove, nil
}
