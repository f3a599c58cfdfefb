package topology

// KafkaSettings say how to reach Kafka, for those who run the topology. The fields are those of the
// Kafka connector's own configuration.
type KafkaSettings struct {
	// TLS is nil for plaintext.
	TLS *TLSSettings
	// SASL is nil for no authentication.
	SASL *SASLSettings
}

// TLSSettings say how to encrypt; the zero value trusts the system's authorities.
type TLSSettings struct {
	// CAFile is a PEM file of the authorities to trust instead of the system's.
	CAFile string
	// CertFile and KeyFile are our own certificate and key, if the broker asks for them.
	CertFile, KeyFile string
	// ServerName is the name expected in the broker's certificate.
	ServerName string
	// Insecure accepts any certificate.
	Insecure bool
}

// SASLSettings say how to authenticate.
type SASLSettings struct {
	// Mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
	Mechanism string
	User      string
	// PasswordFile holds the password, which never stands in a topology.
	PasswordFile string
}

var mechanisms = []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}
