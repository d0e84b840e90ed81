/** The systemd unit and the container build name files that exist and keep their restrictions. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { needProgram } from './support/programs.ts'

const root = new URL('../..', import.meta.url)
const path = (name: string) => fileURLToPath(new URL(name, root))
const UNIT = path('deploy/irish-company-agent.service')
const BACKUP_UNIT = path('deploy/irish-company-agent-backup.service')
const EXPOSURE_MAX = 1.5
/** Of contract 14.4: it sells on, and then finishes its requests. */
const STOP_SECONDS = 5 + 70

const run = promisify(execFile)
/** Resolves with undefined when the program is not installed. */
const tryRun = (file: string, args: string[]) =>
  run(file, args).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })

describe('the deployment files', () => {
  for (const unit of [UNIT, BACKUP_UNIT])
    it(`restrict ${basename(unit)} to an exposure of at most ${EXPOSURE_MAX}`, async function () {
      this.timeout(240_000)
      const found = await tryRun('systemd-analyze', ['security', '--offline=true', '--no-pager', unit])
      const result = needProgram(this, 'systemd-analyze', found)
      const exposure = /Overall exposure level for \S+ (\d+\.\d)/.exec(result.stdout)?.[1]
      process.stdout.write(`    systemd exposure level ${exposure}\n`)
      expect(Number(exposure)).to.be.at.most(EXPOSURE_MAX)
    })

  it('give a stop more time than the service takes, and Kubernetes also the time of its hook', async () => {
    const secondsOf = async (name: string, pattern: RegExp) =>
      Number(pattern.exec(await readFile(path(name), 'utf8'))?.[1])
    const kubernetes = 'deploy/kubernetes.yaml'
    const hook = await secondsOf(kubernetes, /preStop: \{ exec: \{ command: \[sleep, '(\d+)'\] \} \}/)
    expect(await secondsOf('deploy/irish-company-agent.service', /^TimeoutStopSec=(\d+)$/m)).to.be.above(STOP_SECONDS)
    expect(await secondsOf('deploy/compose.yaml', /stop_grace_period: (\d+)s/)).to.be.above(STOP_SECONDS)
    expect(await secondsOf(kubernetes, /terminationGracePeriodSeconds: (\d+)/)).to.be.above(STOP_SECONDS + hook)
  })

  it('back up the service of the other unit, to the one folder that the backup may write', async () => {
    const unit = await readFile(UNIT, 'utf8')
    const backup = await readFile(BACKUP_UNIT, 'utf8')
    const settings = ['User', 'Group', 'WorkingDirectory', 'EnvironmentFile', 'Environment', 'StateDirectory', 'UMask']
    for (const name of settings) {
      const line = new RegExp(`^${name}=.+$`, 'm').exec(unit)?.[0]
      expect(backup.split('\n'), name).to.include(line)
    }
    const folder = /^ReadWritePaths=(\S+)$/m.exec(backup)?.[1]
    expect(backup).to.match(new RegExp(`^ExecStart=.* backup --keep \\d+ "${folder}/`, 'm'))
    expect(await readFile(path('docs/operations/testnet.md'), 'utf8')).to.match(
      new RegExp(`^ +install -d .* ${folder}$`, 'm'),
    )
  })

  it('have a function of the guide that runs a command with each value of the configuration as it is', async () => {
    const guide = await readFile(path('docs/operations/testnet.md'), 'utf8')
    const [, body = ''] = /^ +agent\(\) (\(while[^]*?"\$@"\))$/m.exec(guide) ?? []
    const folder = await mkdtemp(join(tmpdir(), 'guide-'))
    const lines = ['# a comment', '', 'FACILITATOR_AUTHORIZATION=Bearer a b; $(c) "d"=', 'MODE=testnet']
    // The last line has no line end.
    await writeFile(join(folder, 'configuration'), lines.join('\n'))
    const print = 'env | grep -E "^(FACILITATOR_AUTHORIZATION|MODE|DATA_DIR)=" | sort'
    const local = body
      .replace('/etc/irish-company-agent.env', join(folder, 'configuration'))
      .replace('/opt/irish-company-agent', folder)
      .replace(/exec runuser .*/, `${print})`)
    const { stdout } = await run('sh', ['-c', `agent() ${local}; agent check`])
    await rm(folder, { recursive: true })
    expect(stdout.trimEnd().split('\n')).to.deep.equal(['DATA_DIR=/var/lib/irish-company-agent', ...lines.slice(2)])
  })

  it('copy only paths into the container that exist in a built checkout', async () => {
    const text = await readFile(path('deploy/Containerfile'), 'utf8')
    const copied = [...text.matchAll(/^COPY --from=build \/build\/(\S+) /gm)].map(([, name = '']) => name)
    expect(copied).to.include.members(['dist', 'node_modules', 'docs/served'])
    for (const name of copied) expect(existsSync(path(name)), name).to.equal(true)
    const guide = await readFile(path('docs/operations/testnet.md'), 'utf8')
    const [, elsewhere = ''] = /To build elsewhere,\s+copy (.*?), and run/s.exec(guide) ?? []
    for (const name of copied.filter((each) => each !== 'node_modules'))
      expect(
        [...elsewhere.matchAll(/`([^`]+)`/g)].some(([, each = '']) => name.startsWith(each)),
        name,
      ).to.equal(true)
    expect(text).to.match(/^USER 10001:10001$/m)
    // buildah drops HEALTHCHECK from an image in its default format.
    expect(text)
      .to.match(/^HEALTHCHECK /m)
      .and.contain('buildah build --format docker ')
    expect(await readFile(path('docs/operations/containers.md'), 'utf8')).to.contain('buildah build --format docker ')
  })

  it('keep secrets and state out of the context of a container build', async () => {
    // Docker reads this file only; other builders fall back to it.
    const ignored = (await readFile(path('.dockerignore'), 'utf8')).trimEnd().split('\n')
    expect(ignored).to.include.members(['data', 'deploy/.env', '.git', 'node_modules', 'dist'])
    expect((await readFile(path('.gitignore'), 'utf8')).split('\n')).to.include.members(['data/', 'deploy/.env'])
  })

  it('run no scripts of packages at an installation', async () => {
    const settings = (await readFile(path('.npmrc'), 'utf8')).split('\n')
    expect(settings).to.include('ignore-scripts=true')
  })
})
