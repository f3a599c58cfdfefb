package topology

import "github.com/selfregulating/sr/runtime/broker"

// rowText is Text as a Row of one field, value.
var rowText = Decoder[Row]{
	checked: true,
	build: func() func(*broker.Record) (Row, error) {
		decode, row := Text.build(), make(Row, 1)
		return func(r *broker.Record) (Row, error) {
			text, err := decode(r)
			row[0] = textValue(text)
			return row, err
		}
	},
}
