/** The manifest for Kubernetes: the container starts as its user, with volumes and secret, and the probes answer. */
import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { generatePrivateKey } from 'viem/accounts'
import { rpc, testChainUrl } from './support/chain.ts'
import { ready, startChild, stopService } from './support/child.ts'
import { REGISTER } from './support/fixtures.ts'
import { freePort } from './support/listen.ts'
import { makeTemporaryDirectory } from './support/temporary-directory.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))

describe('the manifest for Kubernetes', function () {
  this.timeout(180_000)

  it('starts the service as its user, on a volume with its group, with a secret of root, and is ready', async function () {
    const manifest = await readFile(join(DEPLOY, 'kubernetes.yaml'), 'utf8')
    const numberOf = (name: string) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(manifest)?.[1])
    const [uid, gid, fsGroup] = [numberOf('runAsUser'), numberOf('runAsGroup'), numberOf('fsGroup')]
    // Node.js can be in a folder that only root may enter.
    if (spawnSync(process.execPath, ['--version'], { uid, gid }).status !== 0) return this.skip()
    const ofImage = /^ENV (.*)$/m.exec(await readFile(join(DEPLOY, 'Containerfile'), 'utf8'))?.[1]?.split(' ') ?? []
    const ofPod = Array.from(manifest.matchAll(/- \{ name: (\w+), value: (\S+) \}/g), ([, name, value]) => [
      name,
      value,
    ])
    const environment = Object.fromEntries([...ofImage.map((each) => each.split('=', 2)), ...ofPod]) as Record<
      string,
      string
    >

    const root = await makeTemporaryDirectory()
    await chmod(root, 0o755)
    const give = async (path: string, mode: number) => {
      await chown(path, 0, fsGroup)
      await chmod(path, mode)
    }
    for (const [, path = ''] of manifest.matchAll(/mountPath: (\S+?),? /g)) {
      await mkdir(join(root, path), { recursive: true })
      await give(join(root, path), 0o2775)
    }
    const [DATA_DIR = '', keyFile = ''] = ['DATA_DIR', 'RELAYER_KEY_FILE'].map((name) => join(root, environment[name]!))
    await writeFile(keyFile, generatePrivateKey())
    await give(keyFile, Number.parseInt(String(numberOf('defaultMode')), 8))

    const ADMIN_PORT = String(await freePort())
    const RPC_URL = await testChainUrl()
    // The first block has no block before it, whose hash an observation needs.
    await rpc(RPC_URL, 'anvil_mine', '0x2')
    const chain = { RPC_URL, PAY_TO: `0x${'c7'.repeat(20)}`, BASE_URL: 'https://companies.example' }
    const own = { ...chain, DATA_DIR, RELAYER_KEY_FILE: keyFile, DATASET: REGISTER, PORT: '0', ADMIN_PORT }
    const asUser = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, `--groups=${fsGroup}`, '--no-new-privs']
    const service = startChild('operator/main.js', ['serve'], { ...environment, ...own }, asUser)
    await ready(service)
    const probes = [...manifest.matchAll(/httpGet: \{ path: (\S+), port: (\d+) \}/g)]
    expect(probes).to.have.lengthOf(3)
    expect(manifest).to.contain(`prometheus.io/port: '${environment['ADMIN_PORT']}'`)
    for (const [, path, port] of probes) {
      expect(port).to.equal(environment['ADMIN_PORT'])
      const reply = await fetch(`http://127.0.0.1:${ADMIN_PORT}${path}`)
      expect(reply.status, await reply.text()).to.equal(200)
    }
    expect(await stopService(service), service.stderr()).to.equal(0)
  })
})
