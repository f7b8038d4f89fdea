// The 256 words that pairing phrases are made of: short, common, none that sounds like another. Data only.

/** Eight bits a word. */
export const PHRASE_WORDS: readonly string[] = `
  acorn actor adobe album alley amber angle ankle apple apron arena arrow atlas attic autumn bacon
  badge baker bamboo banjo barn basil basket beacon beard berry birch bison blanket bottle boulder
  branch brick bridge broom bucket buffalo button cabin cactus camel camera candle canoe canvas canyon
  carbon carpet carrot castle cedar cello chalk cherry chess chimney circle citrus clay cliff clover
  coast cobalt coconut comet compass copper coral cotton cradle crater crayon cricket crystal cumin
  curtain cushion cypress daisy dancer desert diamond dinner dolphin donkey dragon drum eagle easel
  echo elbow elder ember engine estate fabric falcon farmer feather fennel fern ferry fiddle field
  finch flame flannel flute forest fossil fountain fox galaxy garden garlic garnet gecko ginger
  giraffe glacier globe glove goblet goose granite grape gravel guitar hammer harbor harp hazel hedge
  helmet heron hickory hockey honey horizon hornet iceberg igloo indigo island ivory jacket jasmine
  jelly jewel jigsaw jungle juniper kayak kernel kettle kitten koala ladder lagoon lantern laurel lava
  lemon lentil leopard lilac lizard lobster locket lotus magnet mammoth mango maple marble meadow
  melon meteor mirror mitten monkey mosaic moss muffin mustard napkin nectar needle nickel nutmeg
  oasis ocean olive onion orange orchard otter oyster paddle palm panda papaya paper parrot pebble
  pelican pencil pepper piano pigeon pillow pine planet plaza plum pocket poppy potato prairie puzzle
  quartz quilt rabbit radish raven ribbon river robin rocket saddle saffron salmon sandal sapphire
  sculptor shadow silver spinach spruce squirrel stable sunset tango teapot temple thimble thunder
  tiger timber tomato topaz trumpet tulip turtle umbrella valley
`.trim().split(/\s+/);
