/** Functions of the Python test client: cryptography equal to viem and the standards, and the checks of responses. */
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { expect } from 'chai'
import type { Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { rootFile } from '../programs/compile-contracts.ts'
import { signAuthorization } from '../support/eip3009.ts'
import { listen } from '../support/listen.ts'
import { runPython, skipWithoutPython } from '../support/python.ts'

const CLIENT = rootFile('docs/served/testnet-client.py')
const DRIVER = rootFile('test/support/testnet_client_driver.py')

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const UINT256_MAX = 2n ** 256n - 1n

const hex = (value: bigint) => value.toString(16).padStart(64, '0')
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const randomHex = (bytes: number) => randomBytes(bytes).toString('hex')
const randomNumber = (bytes: number) => BigInt(`0x${randomHex(bytes)}`)

async function call(calls: [name: string, ...args: unknown[]][]): Promise<unknown[]> {
  const { code, stdout, stderr } = await runPython([DRIVER, CLIENT], { stdin: JSON.stringify(calls) })
  expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
  return JSON.parse(stdout) as unknown[]
}

describe('the functions of the test client', () => {
  before(function () {
    return skipWithoutPython(this)
  })

  it('derive the nonces of RFC 6979 appendix A.2.5, and known ones for secp256k1', async () => {
    const p256 = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'
    const p256Key = 'c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721'
    const [secp256k1, largestKey, text] = [hex(ORDER), hex(ORDER - 1n), 'Satoshi Nakamoto']
    const known = [
      [p256Key, 'sample', p256, 'a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60'],
      [p256Key, 'test', p256, 'd16b6ae827f17175e040871a1c7ec3500192c4c92677336ec2537acaee0008e0'],
      ['1', text, secp256k1, '8f8a276c19f4149656b280621e358cce24f5f52542772691ee69063b74f15d15'],
      [largestKey, text, secp256k1, '33a19b60e25fb6f4435af53a3d42d493644827367e6453928554f43e49aa6f90'],
    ] as const
    expect(await call(known.map(([key, message, order]) => ['nonces', key, sha256(message), order, 1]))).to.deep.equal(
      known.map(([, , , nonce]) => [nonce]),
    )
  })

  it('sign authorizations like viem', async () => {
    const extremes = [0n, 1n, UINT256_MAX].map((number) => ({ key: ORDER - 1n, number, nonce: hex(number) }))
    const random = Array.from({ length: 64 }, (_, index) => ({
      key: randomNumber(31) + 1n,
      number: randomNumber(1 + (index % 32)),
      nonce: randomHex(32),
    }))
    const cases = [...extremes, ...random].map(({ key, number, nonce }) => {
      const from = privateKeyToAddress(`0x${hex(key)}`)
      const to: Hex = `0x${randomHex(20)}`
      const limits = { value: number, validAfter: UINT256_MAX - number, validBefore: number }
      const signed = signAuthorization(`0x${hex(key)}`, { from, to, ...limits, nonce: `0x${nonce}` })
      const texts = Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, String(value)]))
      return { key: hex(key), message: { from, to, ...texts, nonce: `0x${nonce}` }, signed }
    })
    const made = await call(cases.map(({ key, message }) => ['signature', key, message]))
    expect(made.map((signature) => `0x${String(signature)}`)).to.deep.equal(
      await Promise.all(cases.map(({ signed }) => signed)),
    )
  })

  it('accept only complete and small UTF-8 answers within the time limit', async () => {
    type Case = [path: string, answer: (response: ServerResponse) => void, received: string]
    const late = 'no answer: the answer took too long'
    const CASES: Case[] = [
      ['/right', (response) => response.end('{}'), '{}'],
      ['/slow-body', (response) => drip(response, () => void response.write('x')), late],
      [
        '/slow-headers',
        (response) => {
          response.socket?.write('HTTP/1.1 200 OK\r\n')
          drip(response, () => void response.socket?.write(`X-${randomHex(2)}: 1\r\n`))
        },
        late,
      ],
      ['/large', (response) => response.end(' '.repeat(1024 * 1024 + 1)), 'no answer: the answer is too large'],
      [
        '/truncated',
        (response) => {
          response.setHeader('Content-Length', 100)
          response.write('half', () => response.socket?.end())
        },
        'no answer: the answer is incomplete',
      ],
      ['/chunk', (response) => response.write('half', () => response.socket?.end()), 'no answer: IncompleteRead'],
      ['/binary', (response) => response.end(Buffer.of(0xff)), 'no answer: UnicodeDecodeError'],
      [
        '/twice',
        (response) => response.setHeader('PAYMENT-RESPONSE', ['e30=', 'e30=']).end(),
        'no answer: the answer has more than one PAYMENT-RESPONSE',
      ],
      ['/nothing', (response) => response.socket?.destroy(), 'no answer: RemoteDisconnected'],
    ]
    const answers = new Map(CASES.map(([path, answer]) => [path, answer]))
    const server = await listen(createServer((request, response) => answers.get(request.url ?? '')?.(response)))
    try {
      const calls = CASES.map(([path]): [string, string, number] => [
        'send',
        server.url + path,
        path.startsWith('/slow') ? 0.3 : 60,
      ])
      for (const [at, text] of (await call(calls)).entries())
        expect(String(text).startsWith(CASES[at]?.[2] ?? ''), String(text)).to.equal(true)
    } finally {
      server.close()
    }
  })
})

/** Repeats `drop` until the connection is closed. */
function drip(response: ServerResponse, drop: () => void): void {
  const timer = setInterval(drop, 20)
  response.on('close', () => clearInterval(timer))
}
