package kafka

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
)

// debugLog hands the client's log on, all of it at debug level: what matters of it reaches the caller as
// an error, and an outage would otherwise fill the log.
type debugLog struct{ log *slog.Logger }

func (d debugLog) Level() kgo.LogLevel {
	if d.log.Enabled(context.Background(), slog.LevelDebug) {
		return kgo.LogLevelInfo
	}
	return kgo.LogLevelNone
}

func (d debugLog) Log(_ kgo.LogLevel, msg string, keyvals ...any) {
	d.log.Debug("kafka client: "+msg, keyvals...)
}
