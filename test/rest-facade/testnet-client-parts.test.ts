/** The Python test client's own cryptography: byte for byte what viem and the standards say. */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { keccak256, type Address, type Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { rootFile } from '../support/compile-contracts.ts'
import { signAuthorization } from '../support/eip3009.ts'
import { python, skipWithoutPython } from '../support/python.ts'

const CLIENT = rootFile('docs/served/testnet-client.py')
const DRIVER = rootFile('test/support/testnet_client_driver.py')

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const UINT256_MAX = 2n ** 256n - 1n

const hex = (value: bigint) => value.toString(16).padStart(64, '0')
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const randomHex = (bytes: number) => randomBytes(bytes).toString('hex')
const randomNumber = (bytes: number) => BigInt(`0x${randomHex(bytes)}`)

async function call(calls: [name: string, ...args: unknown[]][]): Promise<unknown[]> {
  const { code, stdout, stderr } = await python([DRIVER, CLIENT], { stdin: JSON.stringify(calls) })
  expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
  return JSON.parse(stdout) as unknown[]
}

describe('the test client’s cryptography', () => {
  before(function () {
    return skipWithoutPython(this)
  })

  it('has viem’s keccak-256 of every length around its blocks', async () => {
    const texts = Array.from({ length: 300 }, (_, length) => randomHex(length))
    expect(await call(texts.map((text) => ['keccak256', text]))).to.deep.equal(
      texts.map((text) => keccak256(`0x${text}`).slice(2)),
    )
  })

  it('has viem’s address of a key, checksum and all', async () => {
    const keys = [1n, 2n, 3n, ORDER - 1n, ORDER - 2n, ...Array.from({ length: 12 }, () => randomNumber(31) + 1n)]
    expect(await call(keys.map((key) => ['address', hex(key)]))).to.deep.equal(
      keys.map((key) => privateKeyToAddress(`0x${hex(key)}`)),
    )
  })

  it('has the nonces of RFC 6979 appendix A.2.5, and those known for secp256k1', async () => {
    const p256 = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'
    const p256Key = 'c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721'
    const known: [key: string, text: string, order: string, nonce: string][] = [
      [p256Key, 'sample', p256, 'a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60'],
      [p256Key, 'test', p256, 'd16b6ae827f17175e040871a1c7ec3500192c4c92677336ec2537acaee0008e0'],
      ['1', 'Satoshi Nakamoto', hex(ORDER), '8f8a276c19f4149656b280621e358cce24f5f52542772691ee69063b74f15d15'],
      [
        hex(ORDER - 1n),
        'Satoshi Nakamoto',
        hex(ORDER),
        '33a19b60e25fb6f4435af53a3d42d493644827367e6453928554f43e49aa6f90',
      ],
    ]
    expect(await call(known.map(([key, text, order]) => ['nonces', key, sha256(text), order, 1]))).to.deep.equal(
      known.map(([, , , nonce]) => [nonce]),
    )
  })

  it('goes on to the next nonce as RFC 6979 does, past those that are too large', async () => {
    const order = 2n ** 255n + 95n
    const cases = Array.from({ length: 8 }, () => [hex(randomNumber(31) + 1n), randomHex(32)] as const)
    expect(await call(cases.map(([key, digest]) => ['nonces', key, digest, hex(order), 4]))).to.deep.equal(
      cases.map(([key, digest]) => rfc6979(key, digest, order, 4)),
    )
  })

  it('signs authorizations as viem does', async () => {
    const extremes = [0n, 1n, UINT256_MAX].map((number) => ({ key: ORDER - 1n, number, nonce: hex(number) }))
    const random = Array.from({ length: 64 }, (_, index) => ({
      key: randomNumber(31) + 1n,
      number: randomNumber(1 + (index % 32)),
      nonce: randomHex(32),
    }))
    const cases = [...extremes, ...random].map(({ key, number, nonce }) => ({
      key: hex(key),
      message: {
        from: privateKeyToAddress(`0x${hex(key)}`),
        to: `0x${randomHex(20)}`,
        value: String(number),
        validAfter: String(UINT256_MAX - number),
        validBefore: String(number),
        nonce: `0x${nonce}`,
      },
    }))
    const expected = cases.map(({ key, message }) =>
      signAuthorization(`0x${key}`, {
        from: message.from,
        to: message.to as Address,
        value: BigInt(message.value),
        validAfter: BigInt(message.validAfter),
        validBefore: BigInt(message.validBefore),
        nonce: message.nonce as Hex,
      }),
    )
    const made = await call(cases.map(({ key, message }) => ['signature', key, message]))
    expect(made.map((signature) => `0x${String(signature)}`)).to.deep.equal(await Promise.all(expected))
  })
})

describe('what the test client takes for an answer', () => {
  before(function () {
    return skipWithoutPython(this)
  })

  it('is whole, small, UTF-8 and soon over, however steadily it comes', async () => {
    const answers: Record<string, (response: ServerResponse) => void> = {
      '/right': (response) => response.end('{}'),
      '/body': (response) => drip(response, () => void response.write('x')),
      '/headers': (response) => {
        response.socket?.write('HTTP/1.1 200 OK\r\n')
        drip(response, () => void response.socket?.write(`X-${randomHex(2)}: 1\r\n`))
      },
      '/large': (response) => response.end(' '.repeat(1024 * 1024 + 1)),
      '/truncated': (response) => {
        response.setHeader('Content-Length', 100)
        response.write('half', () => response.socket?.end())
      },
      '/chunk': (response) => response.write('half', () => response.socket?.end()),
      '/binary': (response) => response.end(Buffer.of(0xff)),
      '/twice': (response) => response.setHeader('PAYMENT-RESPONSE', ['e30=', 'e30=']).end(),
      '/nothing': (response) => response.socket?.destroy(),
    }
    const server = createServer((request, response) => answers[request.url ?? '']?.(response))
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const received = await call(
        Object.keys(answers).map((path) => ['send', url + path, ['/body', '/headers'].includes(path) ? 0.3 : 60]),
      )
      expect(received.map((text) => String(text).slice(0, 40))).to.deep.equal(
        [
          '{}',
          'no answer: the answer took too long',
          'no answer: the answer took too long',
          'no answer: the answer is too large',
          'no answer: the answer is incomplete',
          'no answer: IncompleteRead: IncompleteRead',
          "no answer: UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff".slice(0, 40),
          'no answer: the answer has several PAYMENT',
          'no answer: RemoteDisconnected: Remote end'.slice(0, 40),
        ].map((text) => text.slice(0, 40)),
      )
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it('is a quote only if it reads as one, and metadata likewise', async () => {
    const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
    const right = { x402Version: 2, resource: { url: 'x' }, accepts: [{}] }
    const quotes: [header: string | null, status: number][] = [
      [encoded(right), 402],
      [encoded(right), 200],
      [null, 402],
      ...['', '%%%', 'e30', `${encoded(right)}\n`, Buffer.from('\xff', 'latin1').toString('base64')].map(
        (header): [string, number] => [header, 402],
      ),
      ...[{}, [], null, { ...right, x402Version: 1 }, { ...right, resource: 'x' }, { ...right, resource: { url: 1 } }]
        .concat([
          { ...right, accepts: [] },
          { ...right, accepts: {} },
          { ...right, accepts: [1] },
        ])
        .concat([{ ...right, more: 'x'.repeat(4096) }])
        .map((value): [string, number] => [encoded(value), 402]),
    ]
    const bodies: [body: string, status: number][] = [
      ['{"access":{"endpoint_prices":{}}}', 200],
      ['{"access":{"endpoint_prices":{}}}', 503],
      ...['', '[]', '{}', '{"access":1}', '{"access":{}}', '{"access":{"endpoint_prices":[]}}', '{"a":NaN}'].map(
        (body): [string, number] => [body, 200],
      ),
    ]
    const stops = await call([
      ...quotes.map(([header, status]): [string, unknown] => ['quote', [status, '', header, null, null]]),
      ...bodies.map(([body, status]): [string, unknown] => ['access', [status, body, null, null, null]]),
    ])
    const expected = [quotes, bodies].flatMap((each) => each.map((_, index) => (index === 0 ? null : 3)))
    expect(stops).to.deep.equal(expected)
  })

  it('comes from a host named in one way', async () => {
    const origins: [url: string, origin: string | null][] = [
      ['http://127.0.0.1:4021/x?y', 'http://127.0.0.1:4021'],
      ['HTTPS://Example.COM:443', 'https://example.com'],
      ['http://[::1]:80/', 'http://[::1]'],
      ['http://user@example.com', null],
      ['ftp://example.com', null],
      ['http://', null],
      ['http://example.com:99999', null],
      ['example.com', null],
    ]
    expect(await call(origins.map(([url]) => ['origin', url]))).to.deep.equal(origins.map(([, origin]) => origin))
  })

  it('is bought only with a receipt that says so', async () => {
    const payer = `0x${'aB'.repeat(20)}`
    const transaction = `0x${'12'.repeat(32)}`
    const receipt = { success: true, transaction, network: 'eip155:84532', payer: payer.toLowerCase() }
    const answer = (change: object, status = 200, body = '{}') => [
      status,
      body,
      null,
      Buffer.from(JSON.stringify({ ...receipt, ...change })).toString('base64'),
      null,
    ]
    const wrong = [
      answer({ success: false }),
      answer({ success: 'true' }),
      answer({ network: 'eip155:8453' }),
      answer({ payer: `0x${'00'.repeat(20)}` }),
      answer({ transaction: '' }),
      answer({ transaction: `${transaction}\n` }),
      answer({}, 206),
      answer({}, 200, '[]'),
      answer({}, 200, '['.repeat(100_000)),
      answer({}, 200, '{"a":1e400}'),
      [200, '{}', null, null, null],
      [200, '{}', null, 'e30', null],
    ]
    expect(
      await call([answer({}), answer({ payer: undefined }), ...wrong].map((each) => ['transaction', each, payer])),
    ).to.deep.equal([transaction, transaction, ...wrong.map(() => null)])
  })
})

/** RFC 6979 section 3.2 once more, written from its text. */
function rfc6979(key: string, digest: string, order: bigint, count: number): string[] {
  const hmac = (secret: Buffer, ...parts: Buffer[]) =>
    createHmac('sha256', secret).update(Buffer.concat(parts)).digest()
  const octets = Buffer.from(key + hex(BigInt(`0x${digest}`) % order), 'hex')
  let v: Buffer = Buffer.alloc(32, 1)
  let k: Buffer = Buffer.alloc(32, 0)
  k = hmac(k, v, Buffer.of(0), octets)
  v = hmac(k, v)
  k = hmac(k, v, Buffer.of(1), octets)
  v = hmac(k, v)
  const found: string[] = []
  while (found.length < count) {
    v = hmac(k, v)
    const candidate = BigInt(`0x${v.toString('hex')}`)
    if (candidate >= 1n && candidate < order) found.push(hex(candidate))
    k = hmac(k, v, Buffer.of(0))
    v = hmac(k, v)
  }
  return found
}

/** Does something again and again for as long as somebody listens. */
function drip(response: ServerResponse, drop: () => void): void {
  const timer = setInterval(drop, 20)
  response.on('close', () => clearInterval(timer))
}
