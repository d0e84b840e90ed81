/**
 * `npm run tool -- sbom`: checks the output of `npm sbom`. It must list every dependency, and each package of a
 * production install must have a SHA-512 hash and a permissive licence.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { readArguments } from '../support/arguments.ts'

/** Licences that allow use and distribution without publishing the source. */
const LICENCES = ['Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'PSF-2.0']
/**
 * `elliptic` has a security advisory without a fixed version. `secp256k1` declares it and works without it. An override
 * puts another package in its place, which keeps the name and has its own package URL.
 */
const EXCLUDED = 'pkg:npm/elliptic@'
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

interface Component {
  name: string
  version: string
  purl?: string
  hashes?: { alg: string }[]
  licenses?: { license?: { id?: string } }[]
  properties?: { name: string }[]
}

readArguments('')

const root = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const { dependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { dependencies: object }
// Without `--omit=dev`, because npm then leaves out packages that production and development both need.
const options = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx']
const output = execFileSync('npm', options, { cwd: root, maxBuffer: OUTPUT_BYTES_MAX, encoding: 'utf8' })
const { components } = JSON.parse(output) as { components: Component[] }

const isDevelopment = ({ properties = [] }: Component) =>
  properties.some(({ name }) => name === 'cdx:npm:package:development')
const installed = components.filter((component) => !isDevelopment(component))
expect(installed.map(({ name }) => name)).to.include.members(Object.keys(dependencies))
expect(components.filter(({ purl }) => purl?.startsWith(EXCLUDED))).to.deep.equal([])
for (const { name, version, hashes = [], licenses = [] } of installed) {
  const algorithms = hashes.map(({ alg }) => alg)
  expect(algorithms, `the hashes of ${name} ${version}`).to.include('SHA-512')
  expect(LICENCES, `the licences, for ${name} ${version}`).to.include(licenses[0]?.license?.id)
}
process.stdout.write(`${installed.length} packages, each with a hash and a permissive licence\n`)
