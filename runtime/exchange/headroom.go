package exchange

import "math"

// headroom bounds what integer sums can have reached, so that additions need no check: the sum of
// all |v| added since the table was empty. While that stays below 2^63 no sum of any of them, in any
// order, overflows. Once it is spent every addition is checked, until the table is empty again.
type headroom struct {
	left  uint64
	spent bool
}

var fullHeadroom = headroom{left: math.MaxInt64}

// take counts v in.
func (h *headroom) take(v int64) {
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	if u > h.left {
		h.left, h.spent = 0, true
		return
	}
	h.left -= u
}
