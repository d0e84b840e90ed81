/** Functions of the Python test client: cryptography equal to viem and the standards, and the checks of responses. */
import { randomBytes } from 'node:crypto'
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
