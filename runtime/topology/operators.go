package topology

import (
	"fmt"
	"strings"
)

// Map makes one tuple of each. An error of f makes the record a dead letter.
func Map[T, U any](s Stream[T], name string, f func(T) (U, error)) Stream[U] {
	return attach(place{}, s, name, false, func(emit func(U) error) func(T) error {
		return func(tuple T) error {
			made, err := f(tuple)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return emit(made)
		}
	})
}

// FlatMap makes any number of tuples of each, by calling emit, which is not to be kept.
func FlatMap[T, U any](s Stream[T], name string, f func(tuple T, emit func(U)) error) Stream[U] {
	return attach(place{}, s, name, false, func(emit func(U) error) func(T) error {
		var failed error
		each := func(made U) {
			if failed == nil {
				failed = emit(made)
			}
		}
		return func(tuple T) error {
			failed = nil
			if err := f(tuple, each); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return failed
		}
	})
}

// Filter lets through the tuples that keep is true of.
func Filter[T any](s Stream[T], name string, keep func(T) bool) Stream[T] {
	return attach(place{}, s, name, s.checked, func(emit func(T) error) func(T) error {
		return func(tuple T) error {
			if !keep(tuple) {
				return nil
			}
			return emit(tuple)
		}
	})
}

// Split makes a tuple of every word: every longest run that does not hold the separator. Empty words
// do not exist; case and punctuation stay as they are. The words are views into the text.
func Split(s Stream[string], name, separator string) Stream[string] {
	if separator == "" {
		s.b.add(place{}, "operator %s: the separator is empty; name the text between two words", name)
	}
	return attach(place{}, s, name, s.checked, func(emit func(string) error) func(string) error {
		return splitter(separator, emit)
	})
}

// splitter is the function of Split.
func splitter(separator string, emit func(string) error) func(string) error {
	if len(separator) == 1 {
		return byteSplitter(separator[0], emit)
	}
	return func(text string) error {
		for more := true; more; {
			var word string
			word, text, more = strings.Cut(text, separator)
			if word == "" {
				continue
			}
			if err := emit(word); err != nil {
				return err
			}
		}
		return nil
	}
}

// byteSplitter is splitter for a separator of one byte.
func byteSplitter(separator byte, emit func(string) error) func(string) error {
	return func(text string) error {
		for {
			i := strings.IndexByte(text, separator)
			if i < 0 {
				break
			}
			if i > 0 {
				if err := emit(text[:i]); err != nil {
					return err
				}
			}
			text = text[i+1:]
		}
		if text == "" {
			return nil
		}
		return emit(text)
	}
}

// Merge makes one stream of several.
func Merge[T any](name string, first Stream[T], others ...Stream[T]) Stream[T] {
	return merge(&node{name: name}, append([]Stream[T]{first}, others...))
}

func merge[T any](n *node, streams []Stream[T]) Stream[T] {
	b, checked := streams[0].b, true
	n.build = func(in *instance) any { return downstream[T](n, in) }
	from := make([]*node, len(streams))
	for i, s := range streams {
		if s.b != b {
			b.add(n.at, "operator %s: it merges streams of two topologies; build both with one Builder", n.name)
		}
		from[i], checked = s.n, checked && s.checked
	}
	b.insert(n, from...)
	return Stream[T]{b: b, n: n, checked: checked}
}
