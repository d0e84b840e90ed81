/** Writes log lines faster than stderr is read: as many as the first argument says, and one more when stdin ends. */
import { LogOutput } from '../../agent/service/log-output.ts'
import { openLog } from '../../agent/service/log.ts'
import { readArguments } from '../support/arguments.ts'

const [lines] = readArguments('LINES')
const output = new LogOutput()
const log = openLog('info', output)
const pad = 'x'.repeat(1_000)
for (let line = 0; line < Number(lines); line += 1) log.info({ line, pad }, 'line')
process.stdout.write(`${output.lost}\n`)
process.stdin.on('end', () => log.info('last')).resume()
