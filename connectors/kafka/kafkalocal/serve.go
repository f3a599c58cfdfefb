package kafkalocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/selfregulating/sr/connectors/internal/local"
)

const (
	// readyPrefix opens the line by which Serve tells Start its address.
	readyPrefix = "kafka ready at "
	// lingerPatience is how long Serve waits for a broker of an earlier life to leave the folder.
	lingerPatience = 15 * time.Second
	// closePatience is how long Serve waits for the broker to save its state.
	closePatience = 15 * time.Second
)

// options are those of every broker of this package.
func options() []kfake.Opt {
	return []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{
			"log.segment.bytes":          "16777216",
			"default.replication.factor": "1",
		}),
	}
}

// Serve runs a broker in this process until ctx ends or the process gets SIGTERM, and has saved its state when it
// returns. It calls cfg.Ready when clients may connect; without one it prints the line that Start waits for to the
// standard output. Errors of the broker go to the standard error.
func Serve(ctx context.Context, cfg Config) error {
	if err := cfg.validate(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, cfg); err != nil {
		return fmt.Errorf("serving Kafka from %s: %w", cfg.Dir, err)
	}
	return nil
}

func serve(ctx context.Context, cfg Config) error {
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return err
	}
	lock, err := lockFolder(ctx, cfg.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	cluster, err := kfake.NewCluster(append(options(),
		kfake.Ports(cfg.Port),
		kfake.DataDir(filepath.Join(cfg.Dir, "data")),
		kfake.WithLogger(kfake.BasicLogger(os.Stderr, kfake.LogLevelError)),
	)...)
	if err != nil {
		return err
	}
	cfg.ready(cluster.ListenAddrs()[0])
	<-ctx.Done()
	return closeCluster(cluster)
}

// lockFolder keeps a second broker from the same data.
func lockFolder(ctx context.Context, dir string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, lingerPatience)
	defer cancel()
	lock, err := local.Lock(ctx, filepath.Join(dir, "lock"))
	if errors.Is(err, local.ErrLocked) {
		return nil, fmt.Errorf("another broker is using that folder: stop it, or choose another: %w", err)
	}
	return lock, err
}

func closeCluster(cluster *kfake.Cluster) error {
	closed := make(chan struct{})
	go func() {
		cluster.Close()
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case <-time.After(closePatience):
		return fmt.Errorf("saving its state took longer than %s: it will recover at its next start", closePatience)
	}
}
