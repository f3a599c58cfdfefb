// Package prose makes up readable English: sentences about a small country, its weather and its trades, for the demo
// to count. One seed is one text, on every machine and for ever. Words come by rank, a few often and most of them
// seldom, as in books; six megabytes hold more than five thousand different ones.
//
// The word lists are this project's own.
package prose
