/** The limits of the buyer's requests, with real sockets. */
import { createServer, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { ANSWER_BYTES_MAX, fetchText, REQUEST_TIMEOUT_MS } from '../../base/bounded-fetch.ts'
import { FACILITATOR_MS_MAX } from '../../agent/settlement/rpc/time-limits.ts'
import { listen, type ListeningServer } from '../support/listen.ts'

describe('a request of the buyer', () => {
  /** Answers the next request. */
  let answer: (response: ServerResponse) => void
  let server: ListeningServer
  let url: string

  before(async () => {
    server = await listen(createServer((_request, response) => answer(response)))
    url = server.url
  })
  after(() => server.close())

  const failure = (promise: Promise<unknown>) =>
    promise.then(
      () => 'none',
      (cause: Error) => cause.message,
    )

  it('[14.11] reads an answer up to 2 MiB, and closes the connection beyond it', async () => {
    expect(ANSWER_BYTES_MAX).to.equal(2 * 1024 * 1024)
    for (const bytes of [ANSWER_BYTES_MAX - 1, ANSWER_BYTES_MAX]) {
      answer = (response) => void response.end('a'.repeat(bytes))
      expect((await fetchText(fetch, url)).text).to.have.lengthOf(bytes)
    }
    answer = (response) => void response.end('a'.repeat(ANSWER_BYTES_MAX + 1))
    expect(await failure(fetchText(fetch, url))).to.equal(`The answer is larger than ${ANSWER_BYTES_MAX} bytes`)
  })

  it('refuses a status that no Response can have', async () => {
    for (const [status, message] of [
      [599, 'none'],
      [600, 'The answer has the status 600'],
      [999, 'The answer has the status 999'],
    ] as const) {
      answer = (response) => void response.writeHead(status).end('{}')
      expect(await failure(fetchText(fetch, url))).to.equal(message)
    }
  })

  it('counts the bytes after decompression', async () => {
    const bomb = gzipSync(Buffer.alloc(ANSWER_BYTES_MAX + 1))
    expect(bomb.length).to.be.below(ANSWER_BYTES_MAX / 100)
    answer = (response) => void response.setHeader('Content-Encoding', 'gzip').end(bomb)
    expect(await failure(fetchText(fetch, url))).to.contain('larger than')
  })

  it('reports an incomplete answer and follows no redirect', async () => {
    answer = (response) => {
      response.setHeader('Content-Length', '10').write('a', () => response.destroy())
    }
    expect(await failure(fetchText(fetch, url))).to.equal('The answer did not arrive completely')
    answer = (response) => void response.writeHead(302, { Location: '/' }).end()
    expect(await failure(fetchText(fetch, url))).to.equal(`Cannot reach ${new URL(url).origin}`)
  })

  it('may last longer than verification, settlement and the reads of the chain, also in the Python client', async () => {
    const chainReadsMs = 30_000
    expect(REQUEST_TIMEOUT_MS).to.be.at.least(2 * FACILITATOR_MS_MAX + chainReadsMs)
    const script = new URL(import.meta.resolve('#root/docs/served/testnet-client.py'))
    const [, seconds] = /^TIMEOUT_SECONDS = (\d+)/m.exec(await readFile(script, 'utf8')) ?? []
    expect(Number(seconds) * 1000).to.equal(REQUEST_TIMEOUT_MS)
  })
})
