/** Text as people type or copy it: escapes of HTML and URLs, web and e-mail addresses, lost letters. */
import { decodeHTMLStrict } from 'entities'

/** An attribute has a value: in `Kerrigan <A Foods> Ltd`, the words belong to the name. */
const TAG = /<\/?(?:a|b|big|br|div|em|font|h[1-6]|i|li|p|small|span|strong|su[bp]|t[dr]|u)(?:\s\w+=[^<>]*|[\s/]*)>/giu
const PERCENT = /(?:%[0-9A-F]{2})+/giu

export function unescapeText(text: string): string {
  return decodeHTMLStrict(text.replace(PERCENT, decodePercent)).replace(TAG, ' ').replace(PICTURES, readPicture)
}

/** Letters in circles and squares that NFKD keeps, the letters of which flags are made, and flags of one character. */
const PICTURES =
  /[\u{1F150}-\u{1F169}\u{1F170}-\u{1F189}\u{1F18E}\u{1F191}-\u{1F19A}\u{1F1E6}-\u{1F1FF}\u{1F3F3}\u{1F3F4}]/gu
const FIRST_LETTERS = [0x1f150, 0x1f170, 0x1f1e6] as const
const LETTERS = 26
const PICTURED_WORDS = new Map(
  'AB 1F18E,CL 1F191,COOL 1F192,FREE 1F193,ID 1F194,NEW 1F195,NG 1F196,OK 1F197,SOS 1F198,UP 1F199,VS 1F19A,FLAG 1F3F3,FLAG 1F3F4'
    .split(',')
    .map((each) => each.split(' '))
    .map(([word = '', code = '']) => [Number.parseInt(code, 16), ` ${word} `]),
)

function readPicture(picture: string): string {
  const code = picture.codePointAt(0)!
  const first = FIRST_LETTERS.find((each) => code >= each && code < each + LETTERS)
  return first === undefined ? (PICTURED_WORDS.get(code) ?? picture) : String.fromCharCode(65 + code - first)
}

function decodePercent(escapes: string): string {
  try {
    return decodeURIComponent(escapes)
  } catch {
    return escapes
  }
}

/** Ends of domains that companies in Ireland use. A name with another end is not read as an address. */
const DOMAIN_ENDS = String.raw`ie|com|net|org|eu|info|biz|co\.uk|uk|io|ai|app|shop|online`
const ADDRESS = new RegExp(
  String.raw`(?<![\p{L}\p{N}])(?:https?:\/\/)?(?:([\w.+-]+)@|www\.)?(?:[a-z0-9-]+\.)*?([a-z0-9-]{2,})\.(?:${DOMAIN_ENDS})(?![\p{L}\p{N}@.-]|\.[\p{L}\p{N}])([/?#:]\S*)?`,
  'iu',
)
/** The company is in the part before the @. */
const MAIL_SERVICES: ReadonlySet<string> = new Set('gmail hotmail outlook yahoo icloud eircom live'.split(' '))

export function isMailService(domain: string): boolean {
  return MAIL_SERVICES.has(domain.toLowerCase())
}

const BETWEEN_WORDS = /[-._+]+/g
/** A part of a path with a company number: `Kerrigan-Foods-335801`, `id=335801`. */
const NAME_WITH_NUMBER = /(?:^|[/?&=])([^/?&=#]*(?<![0-9])[0-9]{5,7}(?![0-9])[^/?&=#]*)/u
/** `kerrigan-foods-limited` */
const NAME_WITH_FORM = /[/=]([^/?&=#]+[-_](?:limited|ltd|dac|clg|plc|teoranta|company))(?:[-_./?&#]|$)/iu

/** The text with the words of its web or e-mail address: those of a page about a company, else those of the domain. */
function replaceWebAddress(text: string): string {
  return text.replace(ADDRESS, (_address, mailbox: string | undefined, domain: string, path = '') => {
    const ofPage = NAME_WITH_NUMBER.exec(String(path)) ?? NAME_WITH_FORM.exec(String(path))
    const named = mailbox !== undefined && isMailService(domain) ? mailbox : domain
    return ` ${(ofPage?.[1] ?? named).replaceAll(BETWEEN_WORDS, ' ')} `
  })
}

/** Stands for a lost letter. No name contains it, so the spelling search finds words with any letter in its place. */
const LOST_LETTER = 'ʔ'
/** A character that a wrong encoding has replaced: `?` or U+FFFD beside a letter, and a leading `Ã` if any. */
const LOST = /Ã?(?<=[\p{L}\p{N}])[?\uFFFD]|[?\uFFFD](?=\p{L})/gu

/** "And" as it is written between two words: `A 'n' C`. */
const QUOTED_AND = /(?<![\p{L}\p{N}])(?:['’‘`]n['’‘`]?|n['’‘`])(?![\p{L}\p{N}])/giu

/** Cyrillic and Greek letters that look like a Latin one, in lower and upper case, each before the Latin letter. */
const LOOKALIKES = new Map(
  'аa еe оo рp сc уy хx іi јj ѕs һh ԁd ԛq ԝw АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ІI ЈJ ЅS оo αa οo ρp νv ιi κk τt υu χx ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ёe ЁE'
    .split(' ')
    .map((pair) => Array.from(pair) as [string, string]),
)
const LOOKALIKE = new RegExp(`[${[...LOOKALIKES.keys()].join('')}]`, 'gu')
const WORD = /[\p{L}\p{N}]+/gu
const LATIN = /\p{Script=Latin}/u
const OTHER_SCRIPT = /[\p{Script=Cyrillic}\p{Script=Greek}]/u

/** Only in a word with Latin letters: a word of another script is another name. */
function replaceLookalikes(text: string): string {
  if (!OTHER_SCRIPT.test(text)) return text
  return text.replace(WORD, (word) =>
    LATIN.test(word) ? word.replace(LOOKALIKE, (letter) => LOOKALIKES.get(letter) ?? letter) : word,
  )
}

/** The text in the notation of names. Two names can differ in what it rewrites, so only similarity uses it. */
export function rewriteTypedText(text: string): string {
  return replaceLookalikes(replaceWebAddress(text)).replace(LOST, LOST_LETTER).replace(QUOTED_AND, '&')
}
