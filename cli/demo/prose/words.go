package prose

import "strings"

// The lists are in order of frequency. Words that inflect do so regularly, so that the endings can be added.
var (
	nouns = strings.Fields(`
		river house morning letter road door garden field window hill winter summer village market bridge
		harbour table story evening storm lamp kitchen boat horse mill church school song island forest stone
		tower wall valley lantern basket barn clock orchard ferry coat chair ladder kettle meadow fountain
		drum cellar candle violin cloud bell path gate roof fence wagon map key rope blanket bucket
		mountain stream shadow star mirror engine paper pocket button hammer needle oven plough saddle
		feather apple pear plum onion carrot loaf bottle barrel jug spoon bowl cup plate broom
		spider beetle sparrow crow owl heron goat donkey kitten puppy hedgehog trout salmon badger rabbit
		pond marsh cliff cave beach wave tide anchor sail oar net hook lighthouse pier
		flag trumpet puppet painting poem book page sentence word number riddle secret promise rumour quarrel
		wedding supper breakfast harvest lesson journey visitor stranger neighbour cousin daughter sister brother uncle
		garret attic corridor staircase chimney hearth cupboard drawer carpet curtain pillow quilt
		hillside crossroad towpath hedgerow cornfield haystack snowdrift thunderclap rainbow frost sunrise sunset
		telegram almanac ledger notebook pencil inkwell envelope parcel suitcase umbrella walking-stick spyglass compass
		acorn chestnut willow poplar birch elm juniper nettle thistle clover daisy poppy violet tulip`)

	goods = strings.Fields(`
		bread boat clock lamp hat bell rope wagon glass candle book cheese honey barrel violin
		net coal salt wool silk paper brick tile nail knife button glove saddle basket broom
		map mirror drum kite puppet lantern ladder kettle stove fiddle flute spoon plate pin
		needle thread carpet curtain quilt brush comb toy wheel plough fence gate lock key
		cider apple pear plum cherry onion bean herb flower seed egg milk butter cream pie cake
		pepper mustard vinegar ink quill letter parcel song story riddle almanac ledger`)

	trades = strings.Fields(`maker seller mender keeper carrier collector painter dealer grower binder`)

	materials = strings.Fields(`
		stone oak iron copper river snow salt silver corn moon wind rain ash pine sand
		tin moss amber cedar smoke frost sun star marsh hay thorn reed barley fern clay`)

	things = strings.Fields(`
		gate wheel lamp bridge house field boat bell path mill tower wall yard basket shed
		road light barn box flower bird fish song coat door bank wagon cloud post board`)

	adjectives = strings.Fields(`
		old small long cold quiet dark young bright narrow heavy white green warm broken empty strange
		tall deep slow wooden yellow early late gentle sudden distant crooked silent clever proud
		patient curious careful cheerful nervous honest stubborn hungry weary brave foolish polite clumsy
		rusty dusty muddy foggy windy sunny frosty mossy smoky salty sandy stony leafy thorny hilly
		narrow-minded well-known half-open half-forgotten moonlit hand-made left-handed bare-footed grey-haired
		famous ordinary peculiar splendid modest enormous tiny ancient modern foreign local secret public
		pleasant useful careless hopeless endless nameless restless spotless painless harmless homeless
		round square hollow solid smooth rough sharp blunt loose tight damp dry frozen faded painted
		golden silver crimson scarlet violet amber purple brown grey black blue pale shining trembling`)

	negatable = strings.Fields(`
		known seen heard opened finished painted locked answered noticed loved read spoken broken
		certain kind happy lucky usual likely pleasant even familiar willing able friendly easy steady
		expected explained wanted invited guarded mended wrapped polished planned sorted numbered`)

	hues   = strings.Fields(`grey blue green red brown gold silver white yellow violet rose pale dark bright`)
	manner = strings.Fields(`
		slow quick quiet gentle careful sudden cheerful patient proud polite clumsy brave foolish honest
		bright loud soft stern eager nervous curious silent sharp smooth warm cold calm bold kind
		secret open light sad glad neat brisk blunt hopeful thoughtful graceful faithful careless restless`)

	// acts take an object, moves do not.
	acts = strings.Fields(`
		followed opened painted visited mended answered remembered watched cleaned finished crossed measured carried
		borrowed noticed collected counted covered described discovered drew examined folded gathered guarded kept
		honoured inspected joined kicked labelled loaded locked lowered marked mentioned moved numbered obeyed ordered
		packed passed picked planted polished praised pulled pushed questioned raised reached recorded rejected repaired
		returned roasted searched sharpened shifted sketched smelled sorted splashed stacked stained stretched sweetened
		tasted thanked touched traded trusted unlocked unpacked untangled unwrapped washed weighed whitewashed wrapped`)
	moves = strings.Fields(`
		waited walked laughed listened worked stayed rested travelled wandered arrived smiled coughed sneezed danced
		climbed stumbled hesitated whispered whistled muttered sighed yawned dozed dreamed limped marched hurried
		lingered played quarrelled sailed settled shivered shouted skated snored stammered swayed trembled turned
		vanished waved winked wobbled worried sang slept stood sat`)

	givenNames = strings.Fields(`
		Anna Tobias Marta Henry Clara Oskar Ruth Simon Elsa Martin Greta Paul Ida Jacob Nora Felix Lena
		Hugo Vera Emil Judith Anton Hanna Leo Irma Caspar Mina Victor Agnes Conrad Dora Edgar Flora Gideon
		Hester Ivo Juno Kaspar Lydia Magnus Nell Otto Petra Quentin Rosa Silas Thea Ulrich Wanda Yorick Zelda
		Albin Bertha Cyril Delia Ephraim Frieda Gustav Helga Isidor Jasper Klara Lorenz Maud Nestor Olive`)
	familyNames = strings.Fields(`
		Hollow Winter Marsh Lark Pepper Thorn Brook Fennel Ashby Crane Quill Barrow Finch Moss Hazel
		Tallow Rook Sorrel Flint Dunn Heath Latch Plover Sedge Yarrow Birdwood Coldwell Drumlin Eastlake Farrow`)

	townHeads = strings.Fields(`
		Mar Elder Thorn Wil Ash Grey Nor Sud Ever Hal Stan Bram Cor Dun Fal Glen Har Ing Kel Lyn
		Mel Oak Pen Ral Sel Tor Ul Ven Wen Yar Black White Cold Green Fair Lang Broad Stone High Low`)
	townTails = strings.Fields(`
		brook wick ford ham ton bury field mouth haven well dale stead worth gate bridge combe ley moor
		port marsh cliff holm church wood mere`)

	tens  = strings.Fields(`twenty thirty forty fifty sixty seventy eighty ninety`)
	units = strings.Fields(`one two three four five six seven eight nine`)
	teens = strings.Fields(`ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen`)

	months = strings.Fields(`
		January February March April May June July August September October November December`)
	days    = strings.Fields(`Sunday Monday Tuesday Wednesday Thursday Friday Saturday`)
	seasons = strings.Fields(`winter spring summer autumn`)
)
