/** The backups of the container files run in the namespace of a selling service, and can be restored. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { testChainUrl } from './support/chain.ts'
import { childrenOf } from './support/child-processes.ts'
import { AS_FIRST, ready, startChild } from './support/child.ts'
import { runCommand } from './support/cli.ts'
import { REGISTER } from './support/fixtures.ts'
import { makeTemporaryDirectory } from './support/temporary-directory.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const POLL_MS = 50
/** The first hour is over at once, the second one after a sale and a second, because the names are times. */
const SLEEP = `#!/bin/sh
mkdir "$0.first" 2>/dev/null && exit
/bin/sleep 1
while [ ! -d "$0.sold" ]; do /bin/sleep 0.05; done
rmdir "$0.sold"
`

const FILES = [
  { name: 'compose.yaml', sharing: /^ {4}pid: service:service$/m, escaped: '$$' },
  { name: 'kubernetes.yaml', sharing: /^ {6}shareProcessNamespace: true$/m, escaped: '$' },
]

describe('the backup of the container files', function () {
  this.timeout(180_000)

  for (const { name, sharing, escaped } of FILES)
    it(`runs in the namespace of a selling service, and is restored: ${name}`, async function () {
      const text = await readFile(join(ROOT, 'deploy', name), 'utf8')
      const [, command = ''] = /^ {2,8}(?:- name: )?backup:?\n[^]*?>-\n([^]*? done)\n/m.exec(text) ?? []
      expect(text).to.match(sharing)
      // Some users may not create namespaces of process ids.
      const [unshare = '', ...options] = AS_FIRST
      if (spawnSync(unshare, [...options, 'true'], { timeout: 10_000 }).status !== 0) return this.skip()

      const folder = await makeTemporaryDirectory()
      const [backups, programs] = [join(folder, 'backups'), join(folder, 'programs')]
      for (const each of [backups, programs]) await mkdir(each)
      await writeFile(join(programs, 'sleep'), SLEEP, { mode: 0o700 })
      const DATA_DIR = join(folder, 'data')
      const environment = { DATA_DIR, RPC_URL: await testChainUrl(), DATASET: REGISTER, PORT: '0' }
      const service = startChild('operator/main.js', ['serve'], environment, AS_FIRST)
      const url = await ready(service)
      const sell = async (number: string) => {
        const { code, stderr } = await runCommand(['client', 'lookup', number, '--url', url], { environment })
        expect(code, stderr).to.equal(0)
      }
      await sell('00000000')

      const [first] = await childrenOf(service.process.pid ?? 0)
      const script = command
        .trim()
        .replaceAll(/\s+/g, ' ')
        .replaceAll(escaped, () => '$')
        .replace('/backups/', `${backups}/`)
      const beside = spawn(
        'nsenter',
        [`--target=${first}`, '--user', '--pid', '--preserve-credentials', 'sh', '-c', script],
        {
          cwd: ROOT,
          env: { ...environment, PATH: `${programs}:${process.env['PATH']}` },
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      )
      const output = linesOf(beside)
      while (output.length < 1) await sleep(POLL_MS)
      await sell('73848')
      await mkdir(join(programs, 'sleep.sold'))
      while (output.length < 2) await sleep(POLL_MS)
      beside.kill()
      await once(beside, 'exit')
      service.process.kill('SIGKILL')
      await service.ended

      const names = (await readdir(backups)).toSorted()
      expect(names.join(' ')).to.match(/^\d{4}-\d\d-\d\d-\d{6} \d{4}-\d\d-\d\d-\d{6}$/)
      const restored = join(folder, 'restored')
      const { lines, code } = await runCommand(['restore', join(backups, names[1] ?? '')], {
        environment: { DATA_DIR: restored },
      })
      expect([code, existsSync(join(restored, 'keys')), lines[0]?.split(' of ')[0]]).to.deep.equal([
        0,
        true,
        'restored 2 records',
      ])
    })
})

function linesOf({ stdout }: ChildProcess): string[] {
  const lines: string[] = []
  stdout?.setEncoding('utf8').on('data', (text: string) => void lines.push(...text.split('\n').filter(Boolean)))
  return lines
}
