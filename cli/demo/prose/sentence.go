package prose

import (
	"math/rand/v2"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// The words that sentences are made of, in their forms.
var (
	nounList      = listOf(nouns)
	pluralList    = listOf(each(nouns, plural))
	tradeList     = joined(goods, trades, " ")
	workerList    = joined(goods, []string{"maker", "seller", "mender", "carrier", "keeper"}, "")
	compoundList  = joined(materials, things, "")
	adjectiveList = listOf(adjectives)
	unList        = listOf(each(negatable, func(w string) string { return "un" + w }))
	hueList       = joined(hues, hues, "-")
	actList       = listOf(acts)
	moveList      = listOf(moves)
	mannerList    = listOf(each(manner, adverb))
	personList    = listOf(givenNames)
	familyList    = listOf(familyNames)
	townList      = joined(townHeads, townTails, "")
	countList     = append(joined(tens, units, "-").words, append(teens, units[1:]...)...)
)

// Generator makes one sentence after the other. It is not safe for concurrent use.
type Generator struct {
	chance
	out []byte
}

// New starts the text of a seed.
func New(seed uint64) *Generator {
	return &Generator{chance: chance{rand.NewPCG(seed, 0x5e17e9ce)}}
}

// Next appends the next sentence to dst: one line, its words parted by single spaces, without a line end.
func (g *Generator) Next(dst []byte) []byte {
	g.out = g.out[:0]
	switch kind := g.of(100); {
	case kind < 12:
		g.speech()
	case kind < 18:
		g.question()
	case kind < 35:
		g.words(g.opening() + ",")
		g.statement(".")
	default:
		g.statement(".")
	}
	return append(dst, g.out...)
}

// words adds words, with a space before them unless they are the first, which gets a capital.
func (g *Generator) words(words ...string) {
	for _, w := range words {
		if len(g.out) == 0 {
			first, size := utf8.DecodeRuneInString(w)
			g.out = utf8.AppendRune(g.out, unicode.ToUpper(first))
			g.out = append(g.out, w[size:]...)
			continue
		}
		g.out = append(append(g.out, ' '), w...)
	}
}

// end closes a clause right behind its last word.
func (g *Generator) end(mark string) { g.out = append(g.out, mark...) }

func (g *Generator) statement(mark string) {
	g.clause()
	switch {
	case g.often(30):
		g.words(g.any([]string{"and", "while", "because", "until", "before", "as", "although"}))
		g.clause()
	case g.often(15):
		g.end(",")
		g.words(g.any([]string{"but", "so", "and then", "for"}))
		g.clause()
	}
	g.end(mark)
}

func (g *Generator) question() {
	g.words(g.any([]string{"who", "when was it that", "why is it said that", "is it true that", "how often"}))
	if string(g.out) == "Who" {
		g.deed()
	} else {
		g.clause()
	}
	g.end("?")
}

func (g *Generator) speech() {
	g.clause()
	if g.often(20) {
		g.end("!")
	} else {
		g.end(",")
	}
	// The quoted clause has its capital already; the quotation mark goes before it.
	g.out = append([]byte{'"'}, append(g.out, '"')...)
	g.words(g.any([]string{"said", "whispered", "answered", "cried", "thought", "wrote"}), g.person())
	g.end(".")
}

// clause is somebody or something, and what it did.
func (g *Generator) clause() {
	if g.often(55) {
		g.words(g.person())
	} else {
		g.words(g.thing())
	}
	g.deed()
}

func (g *Generator) deed() {
	if g.often(12) {
		g.words(g.any([]string{"never", "often", "always", "almost", "once", "nearly", "seldom"}))
	}
	if g.often(65) {
		g.words(g.from(actList), g.thing())
	} else {
		g.words(g.from(moveList))
		if g.often(60) {
			g.words(g.from(mannerList))
		}
	}
	if g.often(55) {
		g.words(g.place())
	}
}

func (g *Generator) thing() string {
	switch kind := g.of(100); {
	case kind < 12:
		return countList[g.of(len(countList))] + " " + g.from(pluralList)
	case kind < 22:
		return g.any([]string{"the", "some", "all the", "many", "their"}) + " " + g.quality() + g.from(pluralList)
	case kind < 40:
		return withArticle(g.quality() + g.noun())
	case kind < 50:
		return g.any([]string{"his", "her", "my", "our", "their", "this", "that"}) + " " + g.quality() + g.noun()
	}
	return "the " + g.quality() + g.noun()
}

func (g *Generator) noun() string {
	if g.often(12) {
		return g.from(compoundList)
	}
	return g.from(nounList)
}

// quality is an adjective or two with a space behind, or nothing.
func (g *Generator) quality() string {
	switch kind := g.of(100); {
	case kind < 30:
		return g.from(adjectiveList) + " "
	case kind < 38:
		return g.from(unList) + " "
	case kind < 43:
		return g.from(hueList) + " "
	case kind < 46:
		return g.from(adjectiveList) + " and " + g.from(adjectiveList) + " "
	}
	return ""
}

func (g *Generator) person() string {
	switch kind := g.of(100); {
	case kind < 20:
		return g.any([]string{"he", "she", "we", "they", "nobody", "everyone", "somebody"})
	case kind < 45:
		return g.from(personList)
	case kind < 55:
		return g.from(personList) + " " + g.from(familyList)
	case kind < 65:
		return "the " + g.from(tradeList)
	case kind < 75:
		return "the " + g.from(workerList) + " of " + g.from(townList)
	case kind < 85:
		return "old " + g.from(familyList)
	}
	return "the " + g.quality() + g.from(workerList)
}

func (g *Generator) place() string {
	if g.often(35) {
		return g.any([]string{"in", "near", "outside", "not far from", "on the road to"}) + " " + g.from(townList)
	}
	near := g.any([]string{"behind", "under", "beside", "in front of", "above", "near", "along", "across", "past", "beyond"})
	return near + " the " + g.quality() + g.noun()
}

func (g *Generator) opening() string {
	switch g.of(5) {
	case 0:
		return "in the " + g.any(seasons) + " of " + strconv.Itoa(1700+g.of(250))
	case 1:
		return "on the evening of " + strconv.Itoa(1+g.of(28)) + " " + g.any(months)
	case 2:
		return countList[g.of(len(countList))] + " " + g.any([]string{"days", "weeks", "years", "hours"}) + " later"
	case 3:
		return "every " + g.any(days) + " in " + g.any(months)
	}
	return g.any([]string{"that night", "at noon", "long ago", "to this day", "before breakfast", "after the storm"})
}

func withArticle(phrase string) string {
	switch phrase[0] {
	case 'a', 'e', 'i', 'o', 'u':
		return "an " + phrase
	}
	return "a " + phrase
}
