package exchange

// Check tells what CommitRecord would refuse the open record for, overflow aside, and changes nothing.
// Where one record goes into several tables, all are checked before the first is committed.
func (t *Table) Check() error {
	if t.err != nil {
		return t.err
	}
	return t.checkSize()
}
