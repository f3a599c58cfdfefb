package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const mainClass = "kafka.Kafka"

// The id of the cluster, the same for all: a broker only ever meets its own data.
const clusterID = "c3ItdGVzdC1jbHVzdGVyMA"

// prepare finds or fetches all that the broker needs, writes its settings, and formats its data
// folder unless it holds data already.
func (b *Broker) prepare(ctx context.Context) (err error) {
	if b.java, err = exec.LookPath("java"); err != nil {
		return errors.New("java is not on PATH; install Java 17 or later (Debian: apt-get install " +
			"default-jre-headless), or name a running broker in SR_TEST_KAFKA=HOST:PORT")
	}
	if b.classpath, err = classpath(ctx, b.cfg.Log); err != nil {
		return err
	}
	if b.cfg.Dir, err = filepath.Abs(b.cfg.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(b.cfg.Dir, 0o755); err != nil {
		return err
	}
	if b.ports, err = b.cfg.takePorts(); err != nil {
		return err
	}
	if b.cfg.TLS {
		if err := writeCertificate(b.file("key.pem"), b.CAFile()); err != nil {
			return err
		}
	}
	text := b.cfg.properties(b.ports, b.file("data"), b.file("key.pem"))
	if err := os.WriteFile(b.file("server.properties"), []byte(text), 0o600); err != nil {
		return err
	}
	return b.format(ctx)
}

func (b *Broker) format(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(b.file("data"), "meta.properties")); err == nil {
		return nil
	}
	args := []string{
		"-cp", b.classpath, "kafka.tools.StorageTool", "format",
		"-t", clusterID, "-c", b.file("server.properties"),
	}
	if b.cfg.SASL {
		for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
			args = append(args, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, User, Password))
		}
	}
	out, err := exec.CommandContext(ctx, b.java, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("formatting %s: %w\n%s", b.file("data"), err, gist(out))
	}
	return nil
}
