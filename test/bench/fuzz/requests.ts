/** Generates requests as bytes. Most are almost valid, because random bytes are refused early. */
import fc from 'fast-check'

/** Part of most generated values. No response may contain it. */
export const MARKER = 'Qz7canaryXv'

export interface FuzzRequest {
  method: string
  target: string
  bytes: Buffer
  /** Whether the end of the request is unambiguous. If not, its connection is not reused. */
  isFramed: boolean
}

export interface FuzzTarget {
  /** Every path of the OpenAPI description. */
  paths: readonly string[]
  /** A complete payment with the signature of another one. */
  payment: object
  extensionUri: string
}

const WORDS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'null', 'NaN', '1e999', '-0', '../..', '%00']
const LONGER = ['9'.repeat(400), 'a'.repeat(161), '\u202Eabc', '\u{10348}'.repeat(160), '\uFB03', '\uD800']

const unmarked = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(...WORDS, ...LONGER),
)
const text = fc.oneof(
  unmarked,
  unmarked.map((some) => MARKER + some),
  unmarked.map((some) => some + MARKER),
)

const jsonText = fc.oneof(
  text.map((some) => JSON.stringify(some)),
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
  fc.constantFrom('1e400', '-1e400', '-0', '1e-400', '9'.repeat(300), '01', 'NaN', '[1,]', "'a'", '', '\uFEFF1'),
  fc.constantFrom(
    `{"${MARKER}":1,"${MARKER}":2}`,
    `{"__proto__":{"${MARKER}":1}}`,
    '{"a":1,"\\u0061":2}',
    '{"constructor":1}',
  ),
  fc.integer({ min: 1, max: 3000 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  fc.integer({ min: 1, max: 900 }).map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
)

/** The value in some of a hundred cases; null in the others. */
function sometimes<T>(arbitrary: fc.Arbitrary<T>, inHundred: number): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: inHundred, arbitrary }, { weight: 100 - inHundred, arbitrary: fc.constant(null) })
}

type Edit = [place: number, kind: 'replace' | 'remove' | 'add' | 'repeat', name: string, value: string]

const edits = fc.array(
  fc.tuple(fc.nat({ max: 30 }), fc.constantFrom<Edit[1]>('replace', 'remove', 'add', 'repeat'), text, jsonText),
  { maxLength: 3 },
)

/** Valid JSON with some edits, after which it may be invalid. */
function edited(right: fc.Arbitrary<object>): fc.Arbitrary<string> {
  return fc.tuple(right, edits).map(([value, changes]) => {
    const copy = structuredClone(value)
    const inserted: [placeholder: string, raw: string][] = []
    const put = (raw: string) => {
      const placeholder = `@@${inserted.length}@@`
      inserted.push([JSON.stringify(placeholder), raw])
      return placeholder
    }
    for (const [place, kind, name, raw] of changes) {
      const nodes = [...membersOf(copy)]
      const found = nodes[place % Math.max(1, nodes.length)]
      if (!found) continue
      const [owner, key] = found
      if (kind === 'replace') owner[key] = put(raw)
      else if (kind === 'remove') delete owner[key]
      else if (kind === 'add') owner[key] = put(`{${JSON.stringify(name)}:${raw}}`)
      else owner[key] = put(`1,${JSON.stringify(key)}:${raw}`)
    }
    return inserted.reduce((json, [placeholder, raw]) => json.replace(placeholder, () => raw), JSON.stringify(copy))
  })
}

/** Every member of a value at any depth, with its owner. */
function* membersOf(value: object): Generator<[owner: Record<string, unknown>, key: string]> {
  const owner = value as Record<string, unknown>
  for (const [key, member] of Object.entries(owner)) {
    yield [owner, key]
    if (typeof member === 'object' && member !== null) yield* membersOf(member)
  }
}

const name = fc.constantFrom('Plain Fixture Limited', 'O Brien & Sons Teoranta', 'abc', `${MARKER} Limited`)
const lookupInput = fc.record({ company_number: fc.constantFrom('73848', '0', '9'.repeat(20)) })
const searchInput = fc.record({ q: name, limit: fc.integer({ min: 0, max: 11 }) }, { requiredKeys: ['q'] })
const resolveInput = fc.record(
  { name, company_number: fc.constantFrom('73848', '0'), eircode: fc.constant('T12AB34'), address: name },
  { requiredKeys: ['name'] },
)

const operation = fc.oneof(
  fc.record({ operation: fc.constant('lookup'), input: lookupInput }),
  fc.record({ operation: fc.constant('search'), input: searchInput }),
  fc.record({ operation: fc.constant('resolve'), input: resolveInput }),
)

const METHODS = ['SendMessage', 'SendMessage', 'SendMessage', 'SendStreamingMessage', 'GetTask', 'message/send', MARKER]

/** JSON-RPC returns the id, so it has no marker. */
const envelope = fc.record({
  jsonrpc: fc.constant('2.0'),
  id: fc.constantFrom(1, 'id', 0, -1, 2 ** 53, 1.5),
  method: fc.constantFrom(...METHODS),
  params: fc.record({
    message: fc.record({
      messageId: fc.constant('m-1'),
      role: fc.constant('ROLE_USER'),
      parts: fc.oneof(
        operation.map((data) => [{ data }]),
        text.map((some) => [{ text: some }]),
      ),
    }),
  }),
})

const MCP_METHODS = ['tools/list', 'initialize', 'server/discover', 'subscriptions/listen', 'notifications/x', MARKER]
const MCP_VERSION = '2026-07-28'

/** A message of MCP, in the form of specification 2026-07-28, which that of 2025-11-25 ignores. */
function mcpMessageOf(payment: object): fc.Arbitrary<object> {
  const calls = [
    ['lookup_company', lookupInput],
    ['search_companies', searchInput],
    ['resolve_company', resolveInput],
    ['service_info', fc.constant({})],
    [MARKER, fc.constant({})],
  ] as const
  const sent = fc.oneof(
    fc.constant({}),
    fc.constant({ 'x402/payment': payment }),
    jsonText.map((some) => ({ 'x402/payment': some })),
  )
  const version = fc.constantFrom(MCP_VERSION, MCP_VERSION, '2025-11-25', MARKER)
  const meta = fc.tuple(sent, version).map(([own, protocolVersion]) => {
    const required = { protocolVersion, clientInfo: { name: 'fuzz', version: '1' }, clientCapabilities: {} }
    const members = Object.entries(required).map(([member, value]) => [`io.modelcontextprotocol/${member}`, value])
    return Object.assign(Object.fromEntries(members) as object, own)
  })
  const params = fc.oneof(
    ...calls.map(([tool, input]) => fc.record({ name: fc.constant(tool), arguments: input, _meta: meta })),
  )
  return fc.record({
    jsonrpc: fc.constant('2.0'),
    id: fc.constantFrom(1, 'id', 0, -1, 1.5),
    method: fc.oneof(
      { weight: 3, arbitrary: fc.constant('tools/call') },
      { weight: 1, arbitrary: fc.constantFrom(...MCP_METHODS) },
    ),
    params,
  })
}

/** Bytes, some of them invalid UTF-8. */
function bytesOf(body: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  const damage = sometimes(fc.tuple(fc.nat(), fc.constantFrom('ff', 'c0af', 'eda080', 'f4908080', 'c3', '00')), 10)
  return fc.tuple(body, damage).map(([json, found]) => {
    const bytes = Buffer.from(json)
    if (!found) return bytes
    const [place, hex] = found
    const at = place % (bytes.length + 1)
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(hex, 'hex'), bytes.subarray(at)])
  })
}

type Header = [name: string, value: string]

/** The characters of a header value: printable ASCII and bytes above it. */
const headerValue = text.map((some) =>
  Buffer.from(some)
    .toString('latin1')
    .replace(/[^\t\x20-\x7E\x80-\xFF]/g, ''),
)

function headersOf({ payment, extensionUri }: FuzzTarget): fc.Arbitrary<Header[]> {
  const base64 = (json: string) => Buffer.from(json).toString('base64')
  const header = (names: string[], value: fc.Arbitrary<string>) =>
    fc.tuple(fc.constantFrom(...names), value) as fc.Arbitrary<Header>
  const signature = fc.oneof(edited(fc.constant(payment)).map(base64), headerValue, jsonText.map(base64))
  const one = fc.oneof(
    header(['PAYMENT-SIGNATURE', 'payment-signature', 'X-PAYMENT'], signature),
    header(
      ['Content-Type'],
      fc.oneof(fc.constantFrom('text/plain', 'application/json; charset=utf-16', ''), headerValue),
    ),
    header(['Content-Encoding'], fc.constantFrom('gzip', 'br', 'identity', MARKER)),
    header(['Accept'], fc.oneof(fc.constantFrom('text/markdown', '*/*', 'text/html;q=0'), headerValue)),
    header(['Accept-Encoding'], fc.oneof(fc.constantFrom('br', 'gzip', 'identity;q=0', '*;q=0'), headerValue)),
    header(['If-None-Match', 'If-Modified-Since', 'Range', 'Cache-Control', 'Cookie', 'Authorization'], headerValue),
    header(['Expect'], fc.constantFrom('100-continue', MARKER)),
    header(['Upgrade', 'X-HTTP-Method-Override', 'X-Forwarded-Host', 'Forwarded', 'Referer', 'Origin'], headerValue),
    header(['A2A-Version', 'A2A-Extensions'], fc.oneof(fc.constantFrom('1.0', '0.3', extensionUri), headerValue)),
    header(
      ['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name', 'Mcp-Session-Id'],
      fc.oneof(fc.constantFrom(MCP_VERSION, '2025-11-25', 'tools/call', 'lookup_company'), headerValue),
    ),
    header(['x-any', '__proto__', 'constructor', `x-${MARKER}`], headerValue),
  )
  const many = fc.tuple(
    fc.constantFrom(50, 99, 101, 300, 2100),
    headerValue.map((value) => value.slice(0, 3)),
  )
  return fc.oneof(
    { weight: 20, arbitrary: fc.array(one, { maxLength: 4 }) },
    { weight: 1, arbitrary: many.map(([count, value]) => Array.from({ length: count }, (): Header => ['b', value])) },
  )
}

const odd = text.map((some) => encodeURIComponent(some.replace(/\p{Cs}/gu, '')))
const percent = fc.constantFrom('%', '%zz', '%ff', '%C0%AF', '%ED%A0%80', '+', '%00', '%2e%2e', '#', ';', '\\', '|')

const query = fc
  .array(
    fc.tuple(
      fc.constantFrom('q', 'q', 'limit', 'status', 'eircode', '__proto__', '', MARKER),
      fc.oneof(odd, percent, name),
    ),
    { maxLength: 4 },
  )
  .map((fields) => fields.map(([field, value]) => `${field}=${value.replaceAll(' ', '+')}`).join('&'))

function targetsOf(paths: readonly string[]): fc.Arbitrary<string> {
  const known = fc
    .tuple(
      fc.constantFrom(...paths, '/api/v1/search', '/api/v1/company/{company_number}'),
      fc.oneof(fc.constant('73848'), odd),
    )
    .map(([path, number]) => path.replace(/\{\w+\}/, () => number))
  const spelt = fc.oneof(
    { weight: 8, arbitrary: known },
    { weight: 1, arbitrary: fc.tuple(known, fc.oneof(odd, percent)).map(([path, more]) => `${path}/${more}`) },
    { weight: 1, arbitrary: known.map((path) => path.toUpperCase()) },
    { weight: 1, arbitrary: known.map((path) => `/${path}`) },
    { weight: 1, arbitrary: odd.map((some) => `/${some}`) },
    { weight: 1, arbitrary: known.map((path) => `http://${MARKER}.example${path}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '*',
        `${MARKER}:80`,
        `//${MARKER}/docs`,
        '/docs/../docs',
        '/.',
        '/%2e%2e/',
        `/${'a'.repeat(9000)}`,
      ),
    },
  )
  return fc.tuple(spelt, sometimes(query, 50)).map(([path, some]) => (some === null ? path : `${path}?${some}`))
}

const ODD_METHODS = [
  'HEAD',
  'OPTIONS',
  'PUT',
  'DELETE',
  'PATCH',
  'TRACE',
  'PROPFIND',
  'M-SEARCH',
  'CONNECT',
  'get',
  'FOO',
]

/** Requests with an ambiguous end or a broken form. */
const BROKEN: readonly ((head: string, body: Buffer) => (string | Buffer)[])[] = [
  (head, body) => [`${head}Content-Length: ${body.length + 9}\r\n\r\n`, body],
  (head, body) => [`${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, body],
  (head, body) => [`${head}Content-Length: -1\r\n\r\n`, body],
  (head, body) => [`${head}Content-Length: ${'9'.repeat(30)}\r\n\r\n`, body],
  (head, body) => [`${head}Transfer-Encoding: chunked\r\nContent-Length: ${body.length}\r\n\r\n`, body],
  (head, body) => [`${head}Transfer-Encoding: chunked\r\n\r\n${MARKER}\r\n`, body, '\r\n0\r\n\r\n'],
  (head, body) => [`${head}Transfer-Encoding: ${MARKER}\r\n\r\n`, body],
  (head, body) => [head.replaceAll('\r\n', '\n'), '\n', body],
  (head, body) => [head.replaceAll('\r\n', '\r'), '\r', body],
  (head, body) => [head.replace('HTTP/1.1', `HTTP/${MARKER}`), '\r\n', body],
  (head) => [head.replace('HTTP/1.1', 'HTTP/1.0'), '\r\n'],
  (head) => [head.replace(' HTTP/1.1', ''), '\r\n'],
  (head) => [head.replace(/Host:.*\r\n/, ''), '\r\n'],
  (head) => [`${head}Host: ${MARKER}\r\n\r\n`],
  (head) => [`${head}X: a\r\n ${MARKER}\r\n\r\n`],
  (head) => [`${head}X: a\0${MARKER}\r\n\r\n`],
  (head) => [`${head}${MARKER} : a\r\n\r\n`],
  (head) => [`${head}X: ${MARKER.repeat(2000)}\r\n\r\n`],
  (head, body) => [`${head}Content-Length: ${body.length}\r\n\r\n`, body, `${MARKER}\r\n\r\n`],
  (_head, body) => [body],
]

const STREAM: Header = ['Accept', 'application/json, text/event-stream']
/** Agrees with most calls of the generated messages. */
const MODERN: Header[] = [
  ['MCP-Protocol-Version', MCP_VERSION],
  ['Mcp-Method', 'tools/call'],
  ['Mcp-Name', 'lookup_company'],
]

/** A request of any of these kinds. */
export function requestsOf(known: FuzzTarget): fc.Arbitrary<FuzzRequest> {
  const json: Header = ['Content-Type', 'application/json']
  const agent: Header[] = [json, ['A2A-Version', '1.0'], ['A2A-Extensions', known.extensionUri]]
  const broken = sometimes(fc.constantFrom(...BROKEN), 10)
  const headers = headersOf(known)
  const any = fc.tuple(
    fc.oneof(
      { weight: 6, arbitrary: fc.constant('GET') },
      { weight: 2, arbitrary: fc.constantFrom('POST', ...ODD_METHODS) },
    ),
    targetsOf(known.paths),
    headers,
    sometimes(bytesOf(jsonText), 25),
  )
  const posted = (target: string, body: fc.Arbitrary<string>, own: Header[]) => {
    const whole = fc.oneof(
      { weight: 9, arbitrary: fc.constant(own) },
      { weight: 1, arbitrary: fc.constant<Header[]>([]) },
    )
    const all = fc.tuple(whole, headers).map(([first, more]) => first.concat(more))
    return fc.tuple(fc.constant('POST'), fc.constant(target), all, bytesOf(body))
  }
  const kinds = fc.oneof(
    any,
    posted('/api/v1/resolve', edited(resolveInput), [json]),
    posted('/a2a', edited(envelope), agent),
    posted('/mcp', edited(mcpMessageOf(known.payment)), [json, STREAM]),
    posted('/mcp', edited(mcpMessageOf(known.payment)), MODERN.concat([json, STREAM])),
  )
  const framing = fc.constantFrom<'length' | 'chunks'>('length', 'length', 'chunks')
  return fc.tuple(kinds, framing, broken).map(([[method, target, own, body], frame, breakIt]) => {
    const lines = own.map(([header, value]) => `${header}: ${value}\r\n`).join('')
    const head = `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines}`
    if (breakIt) return { method, target, isFramed: false, bytes: join(breakIt(head, body ?? Buffer.from('{}'))) }
    return { method, target, isFramed: true, bytes: join(framed(head, body, frame)) }
  })
}

function framed(head: string, body: Buffer | null, frame: 'length' | 'chunks'): (string | Buffer)[] {
  if (body === null) return [head, '\r\n']
  if (frame === 'length') return [`${head}Content-Length: ${body.length}\r\n\r\n`, body]
  const chunk = body.length === 0 ? [] : [`${body.length.toString(16)}\r\n`, body, '\r\n']
  return [`${head}Transfer-Encoding: chunked\r\n\r\n`, ...chunk, '0\r\n\r\n']
}

/** Encodes heads as Latin-1, where a character is a byte. */
function join(parts: (string | Buffer)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)))
}
