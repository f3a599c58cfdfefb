// Package cell holds the topologies that the chaos suite breaks, and the records that it feeds them.
// The suite and the node that it kills both import it, so that they mean the same. Every record has
// an id that occurs once; what a topology has to make of the records follows from the ids alone.
package cell
