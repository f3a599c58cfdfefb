package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	ucli "github.com/urfave/cli/v2"
)

// exporter serves metrics to Prometheus.
type exporter struct {
	listener net.Listener
	server   *http.Server
}

// listenMetrics takes the address, so that a bad one is told before anything starts.
func listenMetrics(c *ucli.Context, address string, own prometheus.Collector) (*exporter, error) {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		err = checkPort(port)
	}
	if err != nil {
		return nil, wrongUsage(c, "--metrics %q is not an address (%w); write HOST:PORT, such as localhost:9464", address, err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &environmentError{fmt.Errorf("listening for Prometheus: %w; choose a free port of this machine with --metrics HOST:PORT", err)}
	}
	return &exporter{listener, &http.Server{Handler: metricsHandler(own), ReadHeaderTimeout: 5 * time.Second}}, nil
}

// metricsHandler answers /metrics, where what Go and the process tell about themselves is named sr_
// too, and /healthz.
func metricsHandler(own prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(own)
	prometheus.WrapRegistererWithPrefix("sr_", registry).MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	return mux
}

// serve answers requests until stop is called, which returns when the last is done.
func (e *exporter) serve(log *slog.Logger) (stop func()) {
	log.Info("serving metrics", "address", e.listener.Addr().String())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := e.server.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are not served any more", "error", err)
		}
	}()
	return func() {
		_ = e.server.Close() // readers come again
		<-ended
	}
}
