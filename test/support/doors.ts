/** A service's two doors as a buyer uses them for searches and resolutions, and what a piece of work has cost. */
import { expect } from 'chai'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { send, type RawReply, type RawRequest } from './raw-http.ts'
import type { TestService } from './service.ts'

export const SEARCH = '/api/v1/search'
export const RESOLVE = '/api/v1/resolve'

export const NOTHING = { spent: 0n, earned: 0n, transfers: 0 }
export const once = (price: bigint) => ({ spent: price, earned: price, transfers: 1 })

type Change = Partial<Omit<RawRequest, 'url'>>
type Service = Pick<TestService, 'url' | 'pay' | 'paid'>

const paying = (payment: string | undefined) => (payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment })

/** Both doors, of any service that has a URL. */
export function askingOf(service: () => Pick<Service, 'url'>) {
  /** A search by its query string, as it goes over the wire. */
  const search = (query: string, payment?: string, change: Change = {}): Promise<RawReply> =>
    send({ url: service().url, path: `${SEARCH}?${query}`, headers: paying(payment), ...change })

  /** A resolution by its body: text and bytes as they are, anything else as JSON. */
  const resolve = (body: unknown, payment?: string, { headers, ...change }: Change = {}): Promise<RawReply> =>
    send({
      url: service().url,
      method: 'POST',
      path: RESOLVE,
      headers: { 'Content-Type': 'application/json', ...paying(payment), ...headers },
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      ...change,
    })

  /** Either over A2A, by the data of its part; text is the whole body as it is. */
  const a2a = (data: unknown, payment?: string, id: string | number = 1): Promise<RawReply> =>
    send({
      url: service().url,
      method: 'POST',
      path: '/a2a',
      headers: {
        'Content-Type': 'application/json',
        'A2A-Version': '1.0',
        'A2A-Extensions': `${service().url}/docs#http-x402-v1`,
        ...paying(payment),
      },
      body: typeof data === 'string' ? data : rpcBody(data, id),
    })

  return { search, resolve, a2a }
}

export function doorsOf(service: () => Service) {
  /** What the work has moved on chain. */
  async function cost(work: () => Promise<void>) {
    const before = await service().paid()
    await work()
    const after = await service().paid()
    return {
      spent: before.left - after.left,
      earned: after.received - before.received,
      transfers: after.transfers - before.transfers,
    }
  }

  /** A payment for what an unpaid request is quoted. */
  const payFor = async (unpaid: Promise<RawReply>) => service().pay(quoteHeader(await unpaid))

  return { ...askingOf(service), cost, payFor }
}

export function rpcBody(data: unknown, id: string | number = 1): string {
  const message = { messageId: `m-${id}`, role: 'ROLE_USER', parts: [{ data }] }
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'SendMessage', params: { message } })
}

function quoteHeader({ headers }: RawReply): string {
  return String(headers['payment-required'])
}

export function quoteOf(reply: RawReply) {
  expect(reply.status, reply.text).to.equal(402)
  const quote = decodePaymentRequiredHeader(quoteHeader(reply))
  expect(reply.json['payment_required']).to.deep.equal(quote)
  const [requirements, ...more] = quote.accepts
  expect(more).to.deep.equal([])
  return { url: quote.resource.url, amount: requirements?.amount }
}

/** The data of a direct Message, and its id. */
export function messageOf(reply: RawReply): { messageId: string; data: unknown } {
  expect(reply.status, reply.text).to.equal(200)
  const { message } = reply.json['result'] as { message: { messageId: string; parts: [{ data: unknown }] } }
  return { messageId: message.messageId, data: message.parts[0].data }
}

/** What a refusal says of the field and the rule. */
export function detailOf(reply: RawReply): string {
  return (reply.json['error'] as { message: string }).message
}

/** Texts that look like another text or like none: each is refused wherever a person's text is expected. */
export const HIDDEN: [name: string, text: string][] = [
  ['a bidi override', 'Foo\u202EBar'],
  ['a bidi isolate', 'Foo\u2066Bar'],
  ['an Arabic letter mark', 'Foo\u061CBar'],
  ['a zero-width space', 'Foo\u200BBar'],
  ['a zero-width joiner', 'Foo\u200DBar'],
  ['a byte order mark', '\uFEFFFoo Bar'],
  ['a soft hyphen', 'Foo\u00ADBar'],
  ['a variation selector', 'Foo\uFE0FBar'],
  ['a Hangul filler', 'Foo\u3164Bar'],
  ['a NUL', 'Foo\u0000Bar'],
  ['a tab', 'Foo\tBar'],
  ['a line end', 'Foo Bar\n'],
  ['a delete', 'Foo\u007FBar'],
  ['a C1 control', 'Foo\u0085Bar'],
  ['a language tag', 'Foo\u{E0041}Bar'],
]

/** Texts by their length in code points after normalisation (spec 8: 3 to 160). */
export const LENGTHS: [name: string, text: string, fits: boolean][] = [
  ['nothing', '', false],
  ['blanks', '     ', false],
  ['2 characters', 'ab', false],
  ['2 characters in blanks', '  ab  ', false],
  ['3 characters', 'abc', true],
  ['3 characters of four bytes', '\u{10348}\u{10348}\u{10348}', true],
  ['2 characters of four bytes', '\u{10348}\u{10348}', false],
  ['a ligature of 2 letters and 1 letter', '\uFB01x', true],
  ['a ligature of 3 letters', '\uFB03', true],
  ['a ligature of 2 letters', '\uFB01', false],
  ['2 letters, one of them with its accent apart', 'ae\u0301', false],
  ['160 characters', 'a'.repeat(160), true],
  ['160 characters in blanks', `  ${'a'.repeat(160)} `, true],
  ['160 characters of four bytes', '\u{10348}'.repeat(160), true],
  ['160 letters with their accents apart', 'e\u0301'.repeat(160), true],
  ['158 characters and a ligature of 2', `${'a'.repeat(158)}\uFB01`, true],
  ['158 characters and a ligature of 3', `${'a'.repeat(158)}\uFB03`, false],
  ['161 characters', 'a'.repeat(161), false],
  ['161 characters of four bytes', '\u{10348}'.repeat(161), false],
  ['punctuation alone', '--- & ---', false],
]

/** Eircodes by their form (spec 8). */
export const EIRCODES: [text: string, fits: boolean][] = [
  ['D02X285', true],
  ['d02 x285', true],
  [' D 0 2 X 2 8 5 ', true],
  [`D02X285${' '.repeat(9)}`, true],
  [`D02X285${' '.repeat(10)}`, false],
  ['', false],
  ['D02X28', false],
  ['D02X2856', false],
  ['D02-X285', false],
  ['D02X28é', false],
  ['Ｄ02X285', false],
  ['D02\u00A0X285', false],
]
