package state

// writes are the rows that one commit wrote, one for each key, in the order of their first write.
type writes[K comparable, R any] struct {
	at   map[K]int // index into keys and rows
	keys []K
	rows []R
}

func (w *writes[K, R]) get(key K) (row R, found bool) {
	i, found := w.at[key]
	if found {
		row = w.rows[i]
	}
	return row, found
}

func (w *writes[K, R]) put(key K, row R) {
	if i, found := w.at[key]; found {
		w.rows[i] = row
		return
	}
	if w.at == nil {
		w.at = make(map[K]int)
	}
	w.at[key] = len(w.keys)
	w.keys = append(w.keys, key)
	w.rows = append(w.rows, row)
}
