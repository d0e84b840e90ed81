/** The manifest for Kubernetes: its container starts as its user, with its volumes and secrets, and its probes answer. */
import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { generatePrivateKey } from 'viem/accounts'
import { testChainUrl } from './support/chain.ts'
import { ready, startChild } from './support/child.ts'
import { REGISTER } from './support/fixtures.ts'
import { freePort } from './support/listen.ts'
import { readYaml } from './support/python.ts'
import { makeTemporaryDirectory } from './support/temporary-directory.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))

type Probe = Record<'httpGet', { path: string; port: number }>

interface StatefulSet {
  spec: {
    template: {
      spec: {
        securityContext: { runAsUser: number; runAsGroup: number; fsGroup: number }
        containers: [Record<'readinessProbe' | 'livenessProbe', Probe> & Container]
        volumes: [{ secret: { defaultMode: number } }]
      }
    }
  }
}

interface Container {
  env: { name: string; value: string }[]
  volumeMounts: { mountPath: string }[]
}

describe('the manifest for Kubernetes', function () {
  this.timeout(180_000)

  it('starts the service as its user, on a volume with its group, with a secret of root, and is ready', async function () {
    const manifest = (await readYaml(this, join(DEPLOY, 'kubernetes.yaml'))) as StatefulSet
    const { securityContext, containers, volumes } = manifest.spec.template.spec
    const { runAsUser: uid, runAsGroup: gid, fsGroup } = securityContext
    const [{ env, readinessProbe, livenessProbe, volumeMounts }] = containers
    // Node.js can be in a folder that only root may enter.
    if (spawnSync(process.execPath, ['--version'], { uid, gid }).status !== 0) return this.skip()

    const image = await readFile(join(DEPLOY, 'Containerfile'), 'utf8')
    const ofImage = (/^ENV (.*)$/m.exec(image)?.[1] ?? '').split(' ').map((each) => each.split('=', 2))
    const environment = Object.fromEntries([...ofImage, ...env.map(({ name, value }) => [name, value])]) as Record<
      'DATA_DIR' | 'RELAYER_KEY_FILE' | 'ADMIN_PORT',
      string
    >
    const root = await makeTemporaryDirectory()
    await chmod(root, 0o755)
    const give = async (path: string, mode: number) => {
      await chown(path, 0, fsGroup)
      await chmod(path, mode)
    }
    for (const { mountPath } of volumeMounts) {
      await mkdir(join(root, mountPath))
      await give(join(root, mountPath), 0o2775)
    }
    const keyFile = join(root, environment.RELAYER_KEY_FILE)
    await writeFile(keyFile, generatePrivateKey())
    await give(keyFile, volumes[0].secret.defaultMode)

    const ADMIN_PORT = String(await freePort())
    const asUser = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, `--groups=${fsGroup}`, '--no-new-privs']
    const own = {
      ...{ RPC_URL: await testChainUrl(), PAY_TO: `0x${'c7'.repeat(20)}`, DATASET: REGISTER, PORT: '0', ADMIN_PORT },
      ...{
        BASE_URL: 'https://companies.example',
        DATA_DIR: join(root, environment.DATA_DIR),
        RELAYER_KEY_FILE: keyFile,
      },
    }
    const service = startChild('agent/main.js', ['serve'], { ...environment, ...own }, asUser)
    await ready(service)
    for (const { httpGet } of [readinessProbe, livenessProbe]) {
      expect(String(httpGet.port)).to.equal(environment.ADMIN_PORT)
      const reply = await fetch(`http://127.0.0.1:${ADMIN_PORT}${httpGet.path}`)
      expect(reply.status, await reply.text()).to.equal(200)
    }
    service.process.kill('SIGTERM')
    expect(await service.ended, service.stderr()).to.equal(0)
  })
})
