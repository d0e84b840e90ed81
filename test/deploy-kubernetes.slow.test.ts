/** The manifest for Kubernetes: its container starts as its user, with its volumes and secrets, and its probes answer. */
import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { generatePrivateKey } from 'viem/accounts'
import { VARIABLE_NAMES } from '../agent/service/config.ts'
import { rpc, testChainUrl } from './support/chain.ts'
import { ready, startChild } from './support/child.ts'
import { REGISTER } from './support/fixtures.ts'
import { freePort } from './support/listen.ts'
import { findPython, runPython } from './support/python.ts'
import { makeTemporaryDirectory } from './support/temporary-directory.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))

interface Probe {
  httpGet: { path: string; port: number }
}

interface Pod {
  securityContext: { runAsUser: number; runAsGroup: number; fsGroup: number }
  containers: {
    env: { name: string; value: string }[]
    readinessProbe: Probe
    livenessProbe: Probe
    volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[]
  }[]
  volumes: { name: string; secret: { defaultMode: number } }[]
}

describe('the manifest for Kubernetes', function () {
  this.timeout(180_000)

  it('starts the service as its user, on a volume with its group, with a secret of root, and is ready', async function () {
    const python = await findPython(['yaml'])
    if (python === undefined || process.getuid?.() !== 0) return this.skip()
    const program = 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))'
    const stdin = await readFile(join(DEPLOY, 'kubernetes.yaml'), 'utf8')
    const { stdout } = await runPython(['-c', program], { stdin, python })
    const { spec } = JSON.parse(stdout) as { spec: { replicas: number; template: { spec: Pod } } }
    const { securityContext, containers, volumes } = spec.template.spec
    const { runAsUser: uid, runAsGroup: gid, fsGroup } = securityContext
    const [container] = containers
    if (!container) return expect.fail('no container')
    const { env, readinessProbe, livenessProbe, volumeMounts } = container
    // Two processes need two volumes or one database.
    expect(spec.replicas).to.equal(1)
    for (const { name } of env) expect(VARIABLE_NAMES.has(name), name).to.equal(true)
    // Node.js can be in a folder that only root may enter.
    if (spawnSync(process.execPath, ['--version'], { uid, gid }).status !== 0) return this.skip()

    const root = await makeTemporaryDirectory()
    await chmod(root, 0o755)
    for (const { mountPath } of volumeMounts) {
      await mkdir(join(root, mountPath))
      await chown(join(root, mountPath), 0, fsGroup)
      await chmod(join(root, mountPath), 0o2775)
    }
    const given = new Map(env.map(({ name, value }) => [name, value]))
    const keyFile = join(root, given.get('RELAYER_KEY_FILE') ?? '')
    await writeFile(keyFile, generatePrivateKey())
    await chown(keyFile, 0, fsGroup)
    await chmod(keyFile, volumes.find(({ name }) => name === 'secrets')?.secret.defaultMode ?? 0)

    const image = await readFile(join(DEPLOY, 'Containerfile'), 'utf8')
    const [, ofImage = ''] = /^ENV (.*)$/m.exec(image) ?? []
    const all = new Map([...ofImage.split(' ').map((each) => each.split('=', 2) as [string, string]), ...given])
    expect([readinessProbe, livenessProbe].map(({ httpGet }) => String(httpGet.port))).to.deep.equal(
      Array.from({ length: 2 }, () => all.get('ADMIN_PORT')),
    )
    expect(volumeMounts.map(({ mountPath }) => mountPath)).to.include(all.get('DATA_DIR'))
    const RPC_URL = await testChainUrl()
    await rpc(RPC_URL, 'anvil_mine', '0x2')
    const ADMIN_PORT = String(await freePort())
    const environment = {
      ...Object.fromEntries(all),
      ...{ RPC_URL, PAY_TO: `0x${'c7'.repeat(20)}`, BASE_URL: 'https://companies.example', DATASET: REGISTER },
      ...{ DATA_DIR: join(root, all.get('DATA_DIR') ?? ''), RELAYER_KEY_FILE: keyFile, PORT: '0', ADMIN_PORT },
    }
    const asUser = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, `--groups=${fsGroup}`, '--no-new-privs']
    const service = startChild('agent/main.js', ['serve'], environment, asUser)
    await ready(service)
    for (const { httpGet } of [readinessProbe, livenessProbe]) {
      const reply = await fetch(`http://127.0.0.1:${ADMIN_PORT}${httpGet.path}`)
      expect(reply.status, await reply.text()).to.equal(200)
    }
    service.process.kill('SIGTERM')
    expect(await service.ended, service.stderr()).to.equal(0)
  })
})
