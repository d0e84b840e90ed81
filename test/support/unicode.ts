/** All of Unicode, and which of it nobody sees: a second statement, in ranges of Unicode 17, to judge `store/hidden.ts` by. */

const CODE_POINTS = 0x110000

/** From where, to where. A Node with a newer Unicode that fails here gives other snapshots of the same archive too. */
const HIDDEN: readonly (readonly [first: number, last: number])[] = [
  // Controls.
  [0x0000, 0x001f],
  [0x007f, 0x009f],
  // Default-ignorable, as in DerivedCoreProperties.txt.
  [0x00ad, 0x00ad],
  [0x034f, 0x034f],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfff8],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
  // Other format characters: signs that enclose Arabic, Syriac and Kaithi digits, annotations, hieroglyphs' joiners.
  [0x0600, 0x0605],
  [0x06dd, 0x06dd],
  [0x070f, 0x070f],
  [0x0890, 0x0891],
  [0x08e2, 0x08e2],
  [0xfff9, 0xfffb],
  [0x110bd, 0x110bd],
  [0x110cd, 0x110cd],
  [0x13430, 0x1343f],
  // Surrogates, and noncharacters with the last two of every plane.
  [0xd800, 0xdfff],
  [0xfdd0, 0xfdef],
  ...Array.from({ length: 17 }, (_, plane) => [plane * 0x10000 + 0xfffe, plane * 0x10000 + 0xffff] as const),
]

const hidden = new Uint8Array(CODE_POINTS)
for (const [first, last] of HIDDEN) hidden.fill(1, first, last + 1)

/** The characters of a text that nobody sees. */
export function hiddenIn(text: string): string[] {
  return Array.from(text).filter((character) => hidden[character.codePointAt(0) ?? 0] === 1)
}

/** Every code point once, so many to a text, and apart, so that no two halves of a pair make another. */
export function* allOfUnicode(perText: number): Generator<string> {
  for (let first = 0; first < CODE_POINTS; first += perText) {
    const points = Array.from({ length: Math.min(perText, CODE_POINTS - first) }, (_, at) => first + at)
    yield points.map((point) => String.fromCodePoint(point)).join('a')
  }
}
