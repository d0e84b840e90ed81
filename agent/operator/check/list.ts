/** The list of all checks of a configuration, in the order in which they are printed. */
import type { Config } from '../../service/config.ts'
import type { Fetch } from '../../../store/base/bounded-fetch.ts'
import type { Check } from './check.ts'
import { facilitatorChecks } from './facilitators.ts'
import { checkDataDirectory, checkDisk, checkKeys, checkProxies, checkReceiver, checkVariables } from './machine.ts'
import { nodeChecks } from './nodes.ts'
import { publicChecks } from './public-url.ts'
import { checkStoredDataset, checkResponseLog } from './storage.ts'

/** For one request. An operator waits for the checks. */
const REQUEST_MS_MAX = 15_000

interface CheckOptions {
  config: Config
  environment: Record<string, string | undefined>
  now: () => Date
  fetch: Fetch
}

export function listChecks({ config, environment, now, fetch }: CheckOptions): Check[] {
  const limited: Fetch = (url, init) => fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MS_MAX) })
  return [
    { name: 'variables', run: () => checkVariables(environment, config) },
    { name: 'data directory', run: () => checkDataDirectory(config) },
    { name: 'keys', run: () => checkKeys(config) },
    ...quickChecks(config),
    ...nodeChecks(config, now),
    ...facilitatorChecks(config, limited),
    { name: 'response log', run: () => checkResponseLog(config) },
    { name: 'dataset', run: () => checkStoredDataset(config, now, limited) },
    ...publicChecks(config, limited),
  ]
}

/** Checks of this machine that a start does not make by itself. `serve` runs them. */
export function quickChecks(config: Config): Check[] {
  return [
    { name: 'disk', run: () => checkDisk(config) },
    { name: 'receiver', run: () => checkReceiver(config) },
    { name: 'proxies', run: () => checkProxies(config) },
  ]
}
