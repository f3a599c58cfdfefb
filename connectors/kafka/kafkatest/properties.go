package kafkatest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fixed are the settings of every broker: what one node cannot do without, then what makes tests
// quick.
var fixed = map[string]string{
	"process.roles":                                    "broker,controller",
	"node.id":                                          "1",
	"controller.listener.names":                        string(controller),
	"inter.broker.listener.name":                       string(Plaintext),
	"offsets.topic.replication.factor":                 "1",
	"transaction.state.log.replication.factor":         "1",
	"transaction.state.log.min.isr":                    "1",
	"share.coordinator.state.topic.replication.factor": "1",
	"share.coordinator.state.topic.min.isr":            "1",

	"auto.create.topics.enable":                    "false",
	"group.initial.rebalance.delay.ms":             "0",
	"offsets.topic.num.partitions":                 "4",
	"transaction.state.log.num.partitions":         "4",
	"share.coordinator.state.topic.num.partitions": "4",
	"log.cleaner.backoff.ms":                       "200",
	"log.initial.task.delay.ms":                    "1000",
	"log.retention.check.interval.ms":              "1000",
	"log.segment.delete.delay.ms":                  "1000",
}

// properties writes the server.properties of a broker with its data in dataDir.
func (c Config) properties(ports map[Protocol]int, dataDir, keyFile string) string {
	all := maps.Clone(fixed)
	all["log.dirs"] = dataDir
	all["controller.quorum.voters"] = "1@" + address(ports[controller])

	var listeners, protocols []string
	for _, l := range c.listeners() {
		listeners = append(listeners, string(l)+"://"+address(ports[l]))
		protocol := l
		if l == controller {
			protocol = Plaintext
		}
		protocols = append(protocols, string(l)+":"+string(protocol))
	}
	all["listeners"] = strings.Join(listeners, ",")
	all["listener.security.protocol.map"] = strings.Join(protocols, ",")

	if c.SASL {
		maps.Copy(all, c.sasl())
	}
	if c.TLS {
		all["ssl.keystore.type"] = "PEM"
		all["ssl.keystore.location"] = keyFile
	}
	maps.Copy(all, c.Settings)

	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "%s=%s\n", key, all[key])
	}
	return text.String()
}

func (c Config) sasl() map[string]string {
	const scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
	plain := fmt.Sprintf("org.apache.kafka.common.security.plain.PlainLoginModule required user_%s=%q;", User, Password)
	all := map[string]string{
		"authorizer.class.name":          "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":                    "User:ANONYMOUS",
		"allow.everyone.if.no.acl.found": "true",
		"sasl.enabled.mechanisms":        "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
	}
	for _, l := range c.listeners() {
		if l != SASLPlaintext && l != SASLTLS {
			continue
		}
		prefix := "listener.name." + strings.ToLower(string(l))
		all[prefix+".plain.sasl.jaas.config"] = plain
		all[prefix+".scram-sha-256.sasl.jaas.config"] = scram
		all[prefix+".scram-sha-512.sasl.jaas.config"] = scram
	}
	return all
}
