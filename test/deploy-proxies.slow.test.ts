/** The proxies of deploy/ limit the connections of one client, so that another client of the service buys. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { freePort } from './support/listen.ts'
import { startTestService, type TestService } from './support/service.ts'
import { makeTemporaryDirectory } from './support/temporary-directory.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))
/** Debian has both programs in it. */
const FOLDER = '/usr/sbin'
const POLL_MS = 50
/** Of both files. */
const CONNECTIONS_MAX = 64
const ATTACKER = '127.0.0.1'
const BUYER = '127.0.0.2'
const COMPANY = '/api/v1/company/73848'

interface Proxy {
  name: string
  file: string
  command: (path: string) => string[]
  /** Without TLS, on the ports of the test. */
  adapt: (text: string, port: number) => string
  /** What the client gets for one connection more. */
  refusal: string
}

const PROXIES: Proxy[] = [
  {
    name: 'nginx',
    file: 'nginx.conf',
    command: (path) => ['-e', 'stderr', '-c', path, '-g', 'daemon off; master_process off; pid none;'],
    adapt: (text, port) => {
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (each) => `${each}_temp_path temp_${each};`,
      )
      const own = text.replace('listen 443 ssl', `listen ${port}`).replaceAll(/^ *ssl_.*$/gm, '')
      return `events { worker_connections 1024; }\nhttp { access_log off; ${paths.join(' ')}\n${own} }\n`
    },
    refusal: '429',
  },
  {
    name: 'haproxy',
    file: 'haproxy.cfg',
    command: (path) => ['-db', '-f', path],
    adapt: (text, port) => text.replace(/bind :443.*/, `bind :${port}`),
    refusal: 'closed',
  },
]

describe('the proxies of deploy/', function () {
  this.timeout(120_000)
  let service: TestService
  before(async () => void (service = await startTestService({ environment: { TRUST_PROXY: '1' } })))
  after(() => service.stop())

  for (const { name, file, command, adapt, refusal } of PROXIES)
    it(`[8.12] limit the connections of a client, and let another one buy: ${name}`, async function () {
      const program = join(FOLDER, name)
      if (spawnSync(program, ['-v'], { timeout: 10_000 }).error) return this.skip()
      const folder = await makeTemporaryDirectory()
      const port = await freePort()
      const path = join(folder, file)
      const text = await readFile(join(DEPLOY, file), 'utf8')
      await writeFile(path, adapt(text, port).replaceAll('127.0.0.1:4021', new URL(service.url).host))
      const options = name === 'nginx' ? ['-p', folder] : []
      const proxy = spawn(program, [...options, ...command(path)], { stdio: 'inherit' })
      const sockets: Socket[] = []
      try {
        while ((await ask(port, BUYER).catch(() => ({ status: 0 }))).status !== 402) await sleep(POLL_MS)
        for (let count = 0; count < CONNECTIONS_MAX; count += 1) sockets.push(await beginRequest(port, ATTACKER))
        await untilLimited(port, refusal)
        const quote = await ask(port, BUYER)
        const payment = await service.pay(quote.quote)
        const answer = await ask(port, BUYER, { 'PAYMENT-SIGNATURE': payment })
        expect(answer.status, answer.text).to.equal(200)
      } finally {
        for (const socket of sockets) socket.destroy()
        await end(proxy)
      }
    })
})

/** A request whose body does not come. */
async function beginRequest(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(
    'POST /api/v1/resolve HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
  )
  return socket
}

/** The proxy may not have read all requests yet. */
async function untilLimited(port: number, refusal: string): Promise<void> {
  const outcome = () =>
    ask(port, ATTACKER).then(
      ({ status }) => String(status),
      () => 'closed',
    )
  while ((await outcome()) !== refusal) await sleep(POLL_MS)
}

async function ask(port: number, localAddress: string, headers: Record<string, string> = {}) {
  const sent = request({ host: '127.0.0.1', port, path: COMPANY, localAddress, headers, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const quote = response.headers['payment-required']
  return {
    status: response.statusCode,
    quote: typeof quote === 'string' ? quote : null,
    text: await readText(response),
  }
}

async function end(proxy: ChildProcess): Promise<void> {
  if (proxy.exitCode !== null || proxy.signalCode !== null) return
  proxy.kill('SIGKILL')
  await once(proxy, 'exit')
}
