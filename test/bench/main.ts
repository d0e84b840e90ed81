/** The command `bench`: runs one benchmark or programme by name. A figure in a document comes from one of these. */
import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.ts'
import { http } from './http.ts'
import { importBench } from './import.ts'
import { importUnderLoad } from './import-under-load.ts'
import { importKill } from './import-kill.ts'
import { kill } from './kill.ts'
import { lookup } from './lookup.ts'
import { mutants } from './mutants.ts'
import { order } from './order.ts'
import { paidPath } from './paid-path.ts'
import { quality } from './quality.ts'
import { race } from './race.ts'
import { rateLimit } from './rate-limit.ts'
import { search } from './search.ts'
import { simulate } from './simulate.ts'
import { start } from './start.ts'

const BENCHES: Record<string, (options: Record<string, string>) => Promise<boolean>> = {
  fuzz,
  http,
  import: importBench,
  'import-kill': importKill,
  'import-under-load': importUnderLoad,
  kill,
  lookup,
  mutants,
  order,
  'paid-path': paidPath,
  quality,
  race,
  'rate-limit': rateLimit,
  search,
  simulate,
  start,
}

const USAGE = `usage: npm run bench -- ${Object.keys(BENCHES).join(' | ')} [--rows N] ...; each file of test/bench says what it takes\n`

const OPTIONS = {
  connections: { type: 'string' },
  data: { type: 'string' },
  debug: { type: 'string' },
  out: { type: 'string' },
  peers: { type: 'boolean' },
  queries: { type: 'string' },
  rows: { type: 'string' },
  runs: { type: 'string' },
  samples: { type: 'string' },
  seconds: { type: 'string' },
  seed: { type: 'string' },
  seeds: { type: 'string' },
  servers: { type: 'string' },
  soak: { type: 'string' },
  trace: { type: 'boolean' },
  workers: { type: 'string' },
} as const

function readArguments() {
  try {
    const { positionals, values } = parseArgs({ allowPositionals: true, options: OPTIONS })
    const [name = ''] = positionals
    return { bench: Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined, values }
  } catch {
    return { bench: undefined, values: {} }
  }
}

const { bench, values } = readArguments()
if (!bench) {
  process.stdout.write(USAGE)
  process.exitCode = 2
} else {
  const { peers, trace, ...texts } = values
  const isGood = await bench({ ...texts, ...(peers && { peers: 'yes' }), ...(trace && { trace: 'yes' }) })
  process.exitCode = isGood ? 0 : 1
}
