/** The command `bench`: runs one benchmark or programme by name. A figure in a document comes from one of these. */
import { parseArgs } from 'node:util'
import { importBench } from './import.ts'
import { importKill } from './import-kill.ts'
import { kill } from './kill.ts'
import { lookup } from './lookup.ts'
import { start } from './start.ts'

const BENCHES: Record<string, (options: Record<string, string>) => Promise<boolean>> = {
  import: importBench,
  'import-kill': importKill,
  kill,
  lookup,
  start,
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string' }, runs: { type: 'string' }, seconds: { type: 'string' } },
})
const [name = ''] = positionals
const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined
if (!bench) {
  process.stdout.write(
    `usage: npm run bench -- ${Object.keys(BENCHES).join(' | ')} [--rows N] [--runs N] [--seconds N]\n`,
  )
  process.exitCode = 2
} else {
  const isGood = await bench({ ...values })
  process.exitCode = isGood ? 0 : 1
}
