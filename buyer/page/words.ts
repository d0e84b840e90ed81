/** Values as a person reads them. */
import { nounOf } from '../../base/grammar.ts'

const DAY = new Intl.DateTimeFormat('en-IE', { dateStyle: 'medium', timeZone: 'UTC' })
/** Of this browser. */
export const TIME = new Intl.DateTimeFormat('en-IE', { timeStyle: 'short' })
/** The day of a moment, of this browser. */
export const LOCAL_DAY = new Intl.DateTimeFormat('en-IE', { dateStyle: 'medium' })
export const MOMENT = new Intl.DateTimeFormat('en-IE', { dateStyle: 'medium', timeStyle: 'short' })

/** A day of the register, which has no time zone, without a break. Empty without a day. */
export const showDay = (day: string | null): string =>
  day === null ? '' : DAY.format(new Date(day)).replaceAll(' ', '\u00A0')

export const usdc = (micro: number): string => `${micro / 1e6} USDC`

export const plural = (count: number, noun: string): string => `${count.toLocaleString('en-IE')} ${nounOf(count, noun)}`

/** `14:07 today`, `14:07 on 30 Nov 2026` */
export const showLater = (time: Date): string =>
  `${TIME.format(time)} ${time.toDateString() === new Date().toDateString() ? 'today' : `on ${LOCAL_DAY.format(time)}`}`

/** The number of a receipt: the beginning of the nonce of its payment, which is used once. */
export const receiptNumber = (nonce: string): string =>
  nonce
    .slice(2, 18)
    .toUpperCase()
    .replaceAll(/(?<=^(?:.{4})+)(?=.)/g, '-')

export const shorten = (text: string): string => `${text.slice(0, 8)}…${text.slice(-6)}`

/** A day that is a whole value, or the end of one. */
const DATE = /(?<=^| )[12]\d{3}-[01]\d-[0-3]\d(?=$|[,;:]| [→·])/g

/** With codes as words, and days. Names of the register have no small letters beside an underscore. */
export const toWords = (text: string): string =>
  text
    .replaceAll(DATE, (date) => (Number.isNaN(Date.parse(date)) ? date : showDay(date)))
    .replaceAll(/[a-z]+_[a-z_]+/g, (code) => code.replaceAll('_', ' '))

/** What a person who types need not know of a rule. */
const TECHNICAL = /ASCII | (?:before|after) normalisation/g

export const withoutTechnical = (rule: string): string => rule.replaceAll(TECHNICAL, '')
