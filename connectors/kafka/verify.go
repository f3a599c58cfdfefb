package kafka

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/selfregulating/sr/runtime/broker"
)

// verifyExchange compares the topic with what blocks need. It answers a broker.ErrSettings that names
// every difference, and the one command that mends them.
func (b *Broker) verifyExchange(ctx context.Context, x broker.Exchange, l layout) error {
	if l.Partitions != x.Buckets {
		return fmt.Errorf("%w: topic %s has %d partitions, but the operator has %d buckets, one a partition; "+
			"set buckets: %d, or deploy the topology as a new incarnation, which makes its own topic",
			broker.ErrSettings, x.Topic, l.Partitions, x.Buckets, l.Partitions)
	}
	want := settings(x)
	if replication(l) >= 3 {
		want[minISR] = "2"
	}
	found, err := b.describeSettings(ctx, x.Topic, slices.Sorted(maps.Keys(want)))
	if err != nil {
		return err
	}
	mend := make(map[string]string)
	var differences []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !serves(name, found[name], want[name]) {
			mend[name] = want[name]
			differences = append(differences, fmt.Sprintf("%s is %q, must be %q", name, found[name], want[name]))
		}
	}
	if len(mend) == 0 {
		return nil
	}
	return fmt.Errorf("%w: topic %s: %s; mend it with: kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config %s",
		broker.ErrSettings, x.Topic, strings.Join(differences, "; "), b.cfg.Seeds[0], x.Topic, pairs(mend))
}

// serves tells whether a setting is the one wanted, or a stricter one where more is stricter.
func serves(name, found, want string) bool {
	switch name {
	case minISR, "max.message.bytes":
		f, err := strconv.Atoi(found)
		w, err2 := strconv.Atoi(want)
		return err == nil && err2 == nil && f >= w
	}
	return found == want
}

func (b *Broker) describeSettings(ctx context.Context, topic string, names []string) (map[string]string, error) {
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, names
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = append(req.Resources, r)

	resp, err := req.RequestWith(ctx, b.cl)
	if err != nil {
		return nil, fmt.Errorf("describing the settings of topic %s: %w", topic, b.unanswered(ctx, err))
	}
	found := make(map[string]string)
	for _, r := range resp.Resources {
		if denied(r.ErrorCode) {
			return nil, fmt.Errorf("describing the settings of topic %s: %w: our user needs the ACL operation DescribeConfigs on it",
				topic, broker.ErrNoPermission)
		}
		if err := refused(topic, r.ErrorCode); err != nil {
			return nil, fmt.Errorf("describing settings: %w", err)
		}
		for _, c := range r.Configs {
			if c.Value != nil {
				found[c.Name] = *c.Value
			}
		}
	}
	return found, nil
}
