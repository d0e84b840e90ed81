/** The log of a process whose stderr nobody reads, or reads late. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { BUFFER_BYTES_MAX } from '../../../agent/service/log-output.ts'

const PROGRAM = fileURLToPath(new URL('../../programs/log-writer.js', import.meta.url))
const MANY = 5_000

async function startWriter(lines: number) {
  const child = spawn(process.execPath, [PROGRAM, String(lines)], { timeout: 60_000, killSignal: 'SIGKILL' })
  const [lost] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, lost: Number(String(lost)), exited: once(child, 'exit') as Promise<[number | null]> }
}

const parse = (heard: string) =>
  heard
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { line?: number; msg: string; lines_lost?: number })

describe('the log on stderr', () => {
  it('[14.3] does not stop the process while nobody reads it, and loses the lines that do not fit', async () => {
    const { child, lost, exited } = await startWriter(MANY)
    expect(lost).to.be.within(MANY - (2 * BUFFER_BYTES_MAX) / 1_000, MANY - 1)
    child.stdin.end()
    expect(await exited).to.deep.equal([0, null])
  })

  it('[14.3] has every line that fits, and counts the lost ones in the next line', async () => {
    const { child, lost, exited } = await startWriter(MANY)
    const heard = text(child.stderr)
    // The writer tries again after some milliseconds.
    await sleep(500)
    child.stdin.end()
    const lines = parse(await heard)
    expect(lines.slice(0, -1).map(({ line }) => line)).to.deep.equal(
      Array.from({ length: MANY - lost }, (_, index) => index),
    )
    expect(lines.at(-1)).to.include({ msg: 'last', lines_lost: lost })
    expect(await exited).to.deep.equal([0, null])
  })

  it('[14.3] goes on when its reader has closed the pipe', async () => {
    const { child, exited } = await startWriter(10)
    child.stderr.destroy()
    await sleep(100)
    child.stdin.end()
    expect(await exited).to.deep.equal([0, null])
  })
})
