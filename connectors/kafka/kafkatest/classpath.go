package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/selfregulating/sr/connectors/internal/local"
)

// Version is the Apache Kafka that is run.
const Version = "4.4.0"

// The jars of Kafka bring no slf4j binding; without one the broker would log nothing.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sr</groupId>
  <artifactId>kafkatest</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>` + Version + `</version>
      <scope>runtime</scope>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-simple</artifactId>
      <version>1.7.36</version>
      <scope>runtime</scope>
    </dependency>
  </dependencies>
</project>
`

const buildClasspath = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"

// classpath answers the Java class path of the broker, fetching its jars if they are not there.
func classpath(ctx context.Context, log io.Writer) (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	// Packages are tested by processes of their own: the first fetches, the others wait.
	lock, err := local.Lock(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()

	kept := filepath.Join(dir, "classpath")
	if cp, err := readClasspath(kept); err == nil {
		return cp, nil
	}
	if err := fetch(ctx, dir, kept, log); err != nil {
		return "", fmt.Errorf("fetching Apache Kafka %s: %w", Version, err)
	}
	return readClasspath(kept)
}

func cacheDir() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache folder: %w", err)
	}
	dir := filepath.Join(user, "sr", "kafka", Version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the cache folder: %w", err)
	}
	return dir, nil
}

// readClasspath answers the class path kept in file, if each of its jars still exists.
func readClasspath(file string) (string, error) {
	kept, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	cp := strings.TrimSpace(string(kept))
	for _, jar := range filepath.SplitList(cp) {
		if _, err := os.Stat(jar); err != nil {
			return "", err
		}
	}
	return cp, nil
}

func fetch(ctx context.Context, dir, kept string, log io.Writer) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return errors.New("mvn is not on PATH; install Maven (Debian: apt-get install maven), " +
			"or name a running broker in SR_TEST_KAFKA=HOST:PORT")
	}
	fmt.Fprintf(log, "fetching Apache Kafka %s from Maven Central: about a minute, once\n", Version)
	pomFile := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(pomFile, []byte(pom), 0o644); err != nil {
		return err
	}
	fresh := kept + ".new"
	out, err := exec.CommandContext(ctx, mvn, "-q", "-B", "--strict-checksums", "-f", pomFile,
		buildClasspath, "-Dmdep.outputFile="+fresh).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, gist(out))
	}
	return os.Rename(fresh, kept)
}
