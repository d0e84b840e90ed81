/** Checks that use nothing but this machine. They change nothing. */
import { access, constants, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { privateKeyToAddress } from 'viem/accounts'
import { isLoopback, toUrlHost } from '../../../base/url-policy.ts'
import { FREE_BYTES_MIN, readFreeBytes } from '../../../store/files/disk-space.ts'
import { responsesFolder } from '../../../store/files/layout.ts'
import { checkPrivateDirectory, setPrivateModes } from '../../../store/files/private-files.ts'
import { isSameAddress } from '../../payment/accounts.ts'
import type { Config } from '../config.ts'
import { readRelayerKey } from '../externals.ts'
import { failed, passed, warning, type Finding, type Subject } from './subject.ts'

const MIB = 2 ** 20
/** Below this a warning: an import needs some hundred MiB, and a log grows. */
const FREE_BYTES_WARNING = 1024 * MIB

/** Sets the modes of what this process owns. Key files stay strict: others may have read them (contract 13.2). */
export async function setPermissions({ dataDirectory, keysDirectory }: Config): Promise<void> {
  await setPrivateModes(responsesFolder(dataDirectory))
  await setPrivateModes(keysDirectory, { withFiles: false })
}

/** Refuses directories of payments and keys that other users of this machine can access (contract 14.6). */
export async function checkPermissions({ dataDirectory, keysDirectory }: Config): Promise<void> {
  for (const path of [responsesFolder(dataDirectory), keysDirectory]) await checkPrivateDirectory(path)
}

export async function checkDataDirectory({ config }: Subject): Promise<Finding[]> {
  const { dataDirectory } = config
  const existing = await nearestDirectory(dataDirectory)
  const isMissing = existing !== dataDirectory
  const path = JSON.stringify(existing)
  const isUsable = await access(existing, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (!isUsable) return failed(`this user may not write to ${path}: change its owner, or DATA_DIR`)
  await checkPermissions(config)
  return passed(isMissing ? `the first start creates ${JSON.stringify(dataDirectory)}` : path)
}

/** The directory, or the nearest one above it that exists. */
async function nearestDirectory(path: string): Promise<string> {
  for (let each = path; ; each = dirname(each)) {
    const stats = await stat(each).catch(() => undefined)
    if (stats && !stats.isDirectory()) throw new Error(`${JSON.stringify(each)} is not a directory: change DATA_DIR`)
    if (stats || each === dirname(each)) return each
  }
}

/** A database of the log has its own disk: here an import fails, and sales go on. */
export async function checkDisk({ config }: Pick<Subject, 'config'>, readFree = readFreeBytes): Promise<Finding[]> {
  const free = readFree(await nearestDirectory(config.dataDirectory))
  const left = Number.isFinite(free)
    ? `${Math.floor(free / MIB)} MiB are free`
    : 'the file system does not say what is free'
  if (free < FREE_BYTES_MIN.sale && config.responseLog === undefined)
    return failed(`${left}, a sale needs ${FREE_BYTES_MIN.sale / MIB} MiB: free space on the disk of DATA_DIR`)
  return free < FREE_BYTES_WARNING
    ? warning(`${left}, less than ${FREE_BYTES_WARNING / MIB} MiB: free space on the disk of DATA_DIR`)
    : passed(left)
}

/** The key of the receiver should be on no machine of the service. That of the relayer is on this one. */
export function checkReceiver({ config: { facilitator } }: Subject): Finding[] {
  if (facilitator.kind === 'sandbox') return passed('the sandbox has its own')
  const { payTo } = facilitator
  if (facilitator.kind === 'self') {
    const relayer = privateKeyToAddress(readRelayerKey(facilitator.relayerKeyFile))
    if (isSameAddress(relayer, payTo))
      return failed('PAY_TO is the relayer, whose key is on this machine: set it to an account that is kept elsewhere')
  }
  return passed(payTo)
}

/** What can be known of reverse proxies without a request. */
export function checkProxies({ config: { baseUrl, host, trustedProxies } }: Subject): Finding[] {
  const isTls = baseUrl !== undefined && new URL(baseUrl).protocol === 'https:'
  if (isTls && trustedProxies === 0)
    return warning('BASE_URL is https, so requests pass a proxy: set TRUST_PROXY to the number of proxies')
  if (trustedProxies > 0 && !isLoopback(toUrlHost(host)))
    return warning('clients that reach HOST without the proxy can forge their address: close PORT for others')
  return passed(`${trustedProxies} in front of the service`)
}
