/** Text as people type or copy it: escapes of HTML and URLs, web and e-mail addresses, lost letters. */
import { decodeHTMLStrict } from 'entities'

/** An attribute has a value: in `Kerrigan <A Foods> Ltd`, the words belong to the name. */
const TAG = /<\/?(?:a|b|big|br|div|em|font|h[1-6]|i|li|p|small|span|strong|su[bp]|t[dr]|u)(?:\s\w+=[^<>]*|[\s/]*)>/giu
const PERCENT = /(?:%[0-9A-F]{2})+/giu

export function unescapeText(text: string): string {
  return decodeHTMLStrict(text.replace(PERCENT, decodePercent)).replace(TAG, ' ')
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
const BETWEEN_WORDS = /[-._+]+/g
/** A part of a path with a company number: `Kerrigan-Foods-335801`, `id=335801`. */
const NAME_WITH_NUMBER = /(?:^|[/?&=])([^/?&=#]*(?<![0-9])[0-9]{5,7}(?![0-9])[^/?&=#]*)/u
/** `kerrigan-foods-limited` */
const NAME_WITH_FORM = /[/=]([^/?&=#]+[-_](?:limited|ltd|dac|clg|plc|teoranta|company))(?:[-_./?&#]|$)/iu

/** The text with the words of its web or e-mail address: those of a page about a company, else those of the domain. */
function replaceWebAddress(text: string): string {
  return text.replace(ADDRESS, (_address, mailbox: string | undefined, domain: string, path = '') => {
    const ofPage = NAME_WITH_NUMBER.exec(String(path)) ?? NAME_WITH_FORM.exec(String(path))
    const isMailService = mailbox !== undefined && MAIL_SERVICES.has(domain.toLowerCase())
    return ` ${(ofPage?.[1] ?? (isMailService ? mailbox : domain)).replaceAll(BETWEEN_WORDS, ' ')} `
  })
}

/** Stands for a lost letter. No name contains it, so the spelling search finds words with any letter in its place. */
const LOST_LETTER = 'ʔ'
/** A character that a wrong encoding has replaced: `?` or U+FFFD beside a letter, and a leading `Ã` if any. */
const LOST = /Ã?(?<=[\p{L}\p{N}])[?\uFFFD]|[?\uFFFD](?=\p{L})/gu

/** "And" as it is written between two words: `A 'n' C`. */
const QUOTED_AND = /(?<![\p{L}\p{N}])(?:['’‘`]n['’‘`]?|n['’‘`])(?![\p{L}\p{N}])/giu

/** The text in the notation of names. Two names can differ in what it rewrites, so only similarity uses it. */
export function rewriteTypedText(text: string): string {
  return replaceWebAddress(text).replace(LOST, LOST_LETTER).replace(QUOTED_AND, '&')
}
