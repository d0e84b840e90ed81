/** The question whether a row is the header, in a terminal: what each answer does, and what no answer does. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const PROGRAM = fileURLToPath(import.meta.resolve('#root/dist/buyer/main.js'))
const QUESTION = 'Row 1 is perhaps a header: Gamma Sample Company. Is it one? [y/N] '

describe('[15.14] the question for a doubtful header, in a terminal', () => {
  for (const [name, keys, status, shown] of [
    ['goes on without a header after n', 'n\n', 0, /\n3 rows: 3 /],
    ['ends the command at Ctrl-C', '\u0003', 1, /Aborted with Ctrl\+C/],
    ['ends the command at Ctrl-D', '\u0004', 1, /Aborted with Ctrl\+D/],
  ] as const)
    it(name, async function () {
      if (spawnSync('script', ['--version']).status !== 0) return this.skip()
      const directory = await makeTemporaryDirectory()
      await writeFile(join(directory, 'buyer.key'), `0x${'42'.repeat(32)}`, { mode: 0o600 })
      await writeFile(join(directory, 'list.csv'), 'Gamma Sample Company\nPlain Fixture Ltd\nTwin Fixture Limited\n')
      const target = '--url http://127.0.0.1:1 --key-file buyer.key'
      const command = `exec "${process.execPath}" "${PROGRAM}" ${target} reconcile list.csv --column 1 --dry-run`
      const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { cwd: directory })
      let text = ''
      child.stdout.on('data', (chunk: Buffer) => {
        const hasAsked = text.includes(QUESTION)
        text += String(chunk)
        if (!hasAsked && text.includes(QUESTION)) child.stdin.write(keys)
      })
      expect(await once(child, 'close'), text).to.deep.equal([status, null])
      expect(text).to.match(shown)
    })
})
