/** Installs test/peers, the packages that only benchmarks compare with. The service's own install leaves them out. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const FOLDER = fileURLToPath(import.meta.resolve('#root/test/peers/package.json')).replace(/package\.json$/, '')

let installation: Promise<unknown> | undefined

export async function installPeers(): Promise<void> {
  installation ??= promisify(execFile)('npm', ['ci', '--prefix', FOLDER, '--ignore-scripts', '--no-audit', '--no-fund'])
  await installation
}

/** The path of a module of test/peers. */
export function peerPath(name: string): string {
  return `${FOLDER}${name}.js`
}
