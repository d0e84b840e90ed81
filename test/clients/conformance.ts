/** Runs the scenarios of `@modelcontextprotocol/conformance` for the features that the service offers: tools only. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Scenario {
  name: string
  version: '2025-11-25' | '2026-07-28'
  /**
   * Checks that need prompts, resources, or tools with fixed names. One that passes is a fault, so the list stays
   * exact.
   */
  notOffered?: readonly string[]
}

const SCENARIOS: readonly Scenario[] = [
  { name: 'server-initialize', version: '2025-11-25' },
  { name: 'ping', version: '2025-11-25' },
  { name: 'tools-list', version: '2025-11-25' },
  { name: 'dns-rebinding-protection', version: '2025-11-25' },
  {
    name: 'server-stateless',
    version: '2026-07-28',
    notOffered: [
      'sep-2575-server-rejects-undeclared-capability',
      'sep-2575-missing-capability-http-400',
      'sep-2575-http-server-no-independent-requests-on-stream',
      'sep-2575-server-no-log-without-loglevel',
    ],
  },
  { name: 'tools-list', version: '2026-07-28' },
  { name: 'http-header-validation', version: '2026-07-28' },
  { name: 'dns-rebinding-protection', version: '2026-07-28' },
  { name: 'server-sse-multiple-streams', version: '2026-07-28' },
  {
    name: 'caching',
    version: '2026-07-28',
    notOffered: [
      'sep-2549-prompts-list-caching-hints',
      'sep-2549-resources-list-caching-hints',
      'sep-2549-resources-templates-list-caching-hints',
    ],
  },
]

const SCENARIO_MS_MAX = 60_000
const CLIENTS = dirname(fileURLToPath(import.meta.resolve('#root/test/clients/package.json')))
const SUITE = join(CLIENTS, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
/** Node 20 lacks a function that the suite imports for its tests of clients. */
const HOOKS = join(CLIENTS, 'node20.js')

interface Check {
  id: string
  status: string
  errorMessage?: string
}

/** Prints a line for each scenario. Returns the faults. */
export async function conform(url: string, directory: string): Promise<string[]> {
  const faults: string[] = []
  for (const scenario of SCENARIOS) {
    const checks = await runScenario(url, scenario, directory)
    const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    const passed = checks.filter(({ status }) => status === 'SUCCESS')
    const { name, version, notOffered = [] } = scenario
    const unexpected = failed.filter(({ id }) => !notOffered.includes(id))
    const missing = notOffered.filter((id) => failed.every((check) => check.id !== id))
    faults.push(...unexpected.map(({ id, errorMessage }) => `${name} ${version}: ${id}: ${errorMessage}`))
    faults.push(...missing.map((id) => `${name} ${version}: ${id} no longer fails`))
    if (passed.length === 0) faults.push(`${name} ${version}: no check passed`)
    console.log(`${name} ${version}: ${passed.length} passed, ${notOffered.length} not offered`)
  }
  return faults
}

async function runScenario(url: string, { name, version }: Scenario, directory: string): Promise<Check[]> {
  const output = join(directory, `${name}-${version}`)
  await mkdir(output, { recursive: true })
  const scenario = ['--url', url, '--scenario', name, '--spec-version', version, '--output-dir', output]
  // The exit status also counts the checks that are not offered.
  await new Promise((resolve) => {
    const options = { timeout: SCENARIO_MS_MAX, cwd: output }
    execFile(process.execPath, ['--import', HOOKS, SUITE, 'server', ...scenario], options, resolve)
  })
  const [run] = await readdir(output)
  return run === undefined ? [] : (JSON.parse(await readFile(join(output, run, 'checks.json'), 'utf8')) as Check[])
}
