/** The text of a CSV: in UTF-8, in UTF-16 with a byte order mark, or in an encoding with one byte for a letter. */
import { decodeUtf8 } from '../../base/read-body.ts'
import { TableError } from './table-error.ts'

/** The characters of the bytes 0x80 to 0x9F. Some versions of Node.js decode them as ISO-8859-1. */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'

/** The characters of the bytes from 0x80 on. No standard decoder has this encoding of DOS in Western Europe. */
const CP850 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶§÷¸°¨·¹³²■\u00a0'

/** The first bytes of a text show whether it is one. */
const SAMPLE_BYTES = 64 * 1024

/** What a person is offered if the encoding is in doubt. */
export const ENCODINGS: readonly string[] = ['windows-1252', 'cp850', 'macintosh', 'iso-8859-15', 'windows-1250']

/**
 * What a text in Windows-1252 does not have: a letter of CP850 or of an old Macintosh that became punctuation after a
 * letter, a sign between letters, a capital with a caron inside of a word, or a small letter among capitals; a byte
 * without a character; a letter of UTF-8 that became two.
 */
const DOUBTFUL = [
  /\p{L}[‚ƒ„†‡ˆ‰‹˜›]|\p{L}[¡¢£¤¥§]\p{L}|\p{Ll}[ŠŒŽŸ]|\p{L}[ŠŒŽŸ]\p{Ll}/u,
  /(?<!\p{Ll})[ƒµà-öø-ÿ]\p{Lu}|\p{Lu}{2}[µà-öø-ÿ](?!\p{Ll})/u,
  /[\u0081\u008d\u008f\u0090\u009d]|Ã[\u0080-¿]/u,
]

const DECODED = { text: '', hasByteOrderMark: true }

export function decodeText(
  bytes: Uint8Array,
  { name, encoding }: { name: string; encoding: string | undefined },
): { text: string; hasByteOrderMark: boolean } {
  if (encoding !== undefined) return { ...DECODED, text: decoderOf(encoding)(bytes) }
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    return { ...DECODED, text: new TextDecoder(first === 0xff ? 'utf-16le' : 'utf-16be').decode(bytes) }
  if (bytes.subarray(0, SAMPLE_BYTES).includes(0))
    throw new TableError(`${name} is not text in UTF-8 or Windows-1252. Save it as CSV in UTF-8`)
  const unicode = decodeUtf8(bytes)
  if (unicode !== undefined)
    return { text: unicode.replace(/^\uFEFF/, ''), hasByteOrderMark: unicode.startsWith('\uFEFF') }
  const text = decodeBytes(bytes, WINDOWS_1252)
  const doubtful = DOUBTFUL.map((pattern) => pattern.exec(text)).find((found) => found !== null)
  if (!doubtful) return { ...DECODED, text }
  const line = text.slice(0, doubtful.index).split(/\r\n|\n|\r/).length
  const [word] = /\S{0,20}$/.exec(text.slice(0, doubtful.index)) ?? []
  const shown = `"${word}${/^\S{0,20}/.exec(text.slice(doubtful.index))?.[0]}"`
  throw new TableError(`${name} is perhaps not in Windows-1252, in which line ${line} has ${shown}`, {
    argument: 'encoding',
  })
}

/** @throws RangeError for an unknown name */
export function decoderOf(encoding: string): (bytes: Uint8Array) => string {
  const label = encoding.toLowerCase()
  if (/^(?:cp|ibm)?-?850$/.test(label)) return (bytes) => decodeBytes(bytes, CP850)
  if (/^(?:windows-?|cp)?1252$/.test(label)) return (bytes) => decodeBytes(bytes, WINDOWS_1252)
  const decoder = new TextDecoder(encoding)
  return (bytes) => decoder.decode(bytes)
}

/** @param high the characters from 0x80 on. The bytes after them are those of ISO-8859-1 */
function decodeBytes(bytes: Uint8Array, high: string): string {
  const units = new Uint16Array(bytes).map((byte) => high.charCodeAt(byte - 0x80) || byte)
  return new TextDecoder('utf-16le').decode(units)
}
