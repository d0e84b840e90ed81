/** The code samples of the page, as a reader copies them, buy from a running service. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { Context } from 'mocha'
import { send } from '../../support/raw-http.ts'
import { startTestService } from '../../support/service.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { findClientPython } from '../../support/testnet-client.ts'
import { useService } from '../../support/use-service.ts'

/** Packages are found from here. */
const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const run = promisify(execFile)

describe('the code samples of the page', () => {
  const { service } = useService(() => startTestService())
  let samples: Map<string, string>

  before(async () => {
    const { text } = await send({ url: service.url, path: '/', headers: { Accept: 'text/html' } })
    const found = text.matchAll(/<summary>(\w+)<\/summary><pre[^>]*>([^]*?)<\/pre>/g)
    const unescaped = (html: string) =>
      html.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    samples = new Map([...found].map(([, name = '', code = '']) => [name, unescaped(code)]))
  })

  it('are four', () => {
    expect([...samples.keys()]).to.deep.equal(['fetch', 'Python', 'MCP', 'A2A'])
  })

  const node = (code: string) => {
    const env = { ...process.env, BUYER_KEY: service.buyerKey }
    return run(process.execPath, ['--input-type=module', '-e', code], { cwd: ROOT, env })
  }
  const shell = async (code: string, context: Context) => {
    const client = await findClientPython(context)
    const cwd = await makeTemporaryDirectory()
    await writeFile(join(cwd, 'buyer.key'), service.buyerKey, { mode: 0o600 })
    await client.prepare(cwd)
    // uv would install the packages of the program.
    return run('sh', ['-c', code.replace('uv run ', `${client.python} `)], { cwd })
  }
  for (const [name, start, shown] of [
    ['fetch', node, 'SYNTHETIC TEST COMPANY LIMITED'],
    ['Python', shell, 'SYNTHETIC TEST COMPANY LIMITED'],
    ['MCP', node, 'candidates'],
    ['A2A', node, 'candidates'],
  ] as const)
    it(`${name} pays once and prints the answer`, async function () {
      const paid = await service.transfersOf(async () => {
        expect((await start(samples.get(name) ?? '', this)).stdout).to.contain(shown)
      })
      expect(paid).to.equal(1)
    })
})
