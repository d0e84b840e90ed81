/** Reads a typed name once: the name, the text behind its legal form, and the numbers. Shared by all transports. */
import { normaliseWords, parseName } from '../../store/index/normalise-name.ts'
import { isAmbiguousForm, splitMisspeltSuffix, type ParsedName } from '../../store/index/suffixes.ts'
import { splitTextBehindForm, splitTradingName, type TextBehindForm } from './text-behind-form.ts'
import { findTypedNumbers, readTypedNumber, type TypedNumber, type TypedNumbers } from './typed-number.ts'
import { restoreVowels, rewriteTypedText, unescapeText } from './typed-text.ts'

export interface QueryName {
  /** The whole text, normalised. */
  normal: string
  /** The whole text as a name. Two if its last word can be a legal form or a part of the name. */
  whole: readonly ParsedName[]
  /** The name before the text behind its legal form; undefined without such text. */
  named: ParsedName | undefined
  behind: TextBehindForm
  /** The name as similarity search reads it. */
  similar: ParsedName
  /** The number, if the text is nothing else. */
  number: TypedNumber | undefined
  numbers: TypedNumbers
}

/** A legal form that is cut at the end of the text, or `Designated Activity Co.` anywhere. */
const CUT_FORM =
  /(?<![\p{L}\p{N}])(?:(limite?|limi)$|designated(?: a[ctivy]{0,7}| activity c[ompan]{0,5})?$|designated activity co(?![\p{L}\p{N}])\.?)/iu

export function parseQueryName(written: string): QueryName {
  const text = restoreVowels(unescapeText(written))
  const words = normaliseWords(text)
  const whole = parseName(text)
  const isAmbiguous = isAmbiguousForm(words, whole)
  const name = findTypedNumbers(text).rest.replace(CUT_FORM, (_, limited) =>
    limited === undefined ? 'designated activity company' : 'limited',
  )
  const { before, behind } = splitTextBehindForm(name)
  const similar = splitMisspeltSuffix(parseName(splitTradingName(rewriteTypedText(before))))
  return {
    normal: words.join(' '),
    // "Cnoc Sé" without its accent: the last word is part of the name.
    whole: isAmbiguous ? [whole, { core: words, suffix: '' }] : [whole],
    named: behind || name !== text ? parseName(before) : undefined,
    behind: behind ?? { words: [], distinguishing: [] },
    similar: { ...similar, core: [...similar.core, ...(behind?.distinguishing ?? [])] },
    number: readTypedNumber(text),
    numbers: findTypedNumbers(rewriteTypedText(text)),
  }
}

/** The name that counts without the text behind its legal form; undefined if that text is a part of the name. */
export function nameBeforeNotes({ named, behind }: QueryName): ParsedName | undefined {
  return behind.distinguishing.length === 0 ? named : undefined
}
