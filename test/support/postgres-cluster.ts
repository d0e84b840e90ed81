/** A PostgreSQL primary with a synchronous standby. Replication uses its own address, so that it can be cut. */
import { chmod, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { openPostgresProxy } from './postgres-proxy.ts'
import {
  initialiseServer,
  launchServer,
  makeServerFolder,
  queryOnce,
  runAsServerUser,
  SOCKET,
  urlIn,
  type LaunchedServer,
} from './postgres.ts'

type Address = Awaited<ReturnType<typeof openPostgresProxy>>

const SYNC_MS_MAX = 30_000
const POLL_MS = 50

interface Member {
  folder: string
  server: LaunchedServer
}

export class PostgresCluster implements AsyncDisposable {
  readonly #folder: string
  readonly #service: Address
  readonly #replication: Address
  #primary: Member
  #standby: Member | undefined
  #membersMade = 1

  private constructor(folder: string, addresses: { service: Address; replication: Address }, primary: Member) {
    this.#folder = folder
    this.#service = addresses.service
    this.#replication = addresses.replication
    this.#primary = primary
  }

  static async start(): Promise<PostgresCluster> {
    const folder = await makeServerFolder()
    const primary = join(folder, '1')
    await makeMemberFolder(primary)
    await initialiseServer(join(primary, 'data'))
    const server = await launchServer({ data: join(primary, 'data'), sockets: primary })
    const addresses = { service: join(folder, 'service'), replication: join(folder, 'replication') }
    for (const each of Object.values(addresses)) await makeMemberFolder(each)
    const service = await openPostgresProxy(addresses.service, primary)
    const replication = await openPostgresProxy(addresses.replication, primary)
    // The user of the standby is not the user that made the socket.
    await chmod(join(addresses.replication, SOCKET), 0o777)
    return new PostgresCluster(folder, { service, replication }, { folder: primary, server })
  }

  /** The URL at the address that services use. */
  url(database: string): string {
    return urlIn(this.#service.folder, database)
  }

  /** Runs a statement on the primary. */
  query(statement: string, database = 'postgres'): Promise<pg.QueryResult> {
    return queryOnce(urlIn(this.#primary.folder, database), statement)
  }

  /** Makes a standby, and returns when every commit waits for it. */
  async addStandby(): Promise<void> {
    this.#membersMade += 1
    const folder = join(this.#folder, String(this.#membersMade))
    await makeMemberFolder(folder)
    this.#replication.setTarget('open', this.#primary.folder)
    const data = join(folder, 'data')
    const copy = ['--pgdata', data, '--host', this.#replication.folder, '--username', 'test', '--wal-method', 'stream']
    await runAsServerUser('pg_basebackup', [...copy, '--checkpoint', 'fast', '--write-recovery-conf', '--no-sync'])
    this.#standby = { folder, server: await launchServer({ data, sockets: folder }) }
    await this.query(`alter system set synchronous_standby_names = '*'`)
    await this.query('select pg_reload_conf()')
    await this.#waitUntilSynchronous()
  }

  /** From now on the standby receives nothing, so no commit is acknowledged. */
  cutReplication(): void {
    this.#replication.setTarget('silent', this.#primary.folder)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#standby?.server.kill()
    await this.#primary.server.kill()
    await this.#service.close()
    await this.#replication.close()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #waitUntilSynchronous(): Promise<void> {
    for (let waited = 0; waited < SYNC_MS_MAX; waited += POLL_MS) {
      const { rows } = await this.query(
        `select 1 from pg_stat_replication where sync_state = 'sync' and flush_lsn >= pg_current_wal_flush_lsn()`,
      )
      if (rows.length > 0) return
      await sleep(POLL_MS)
    }
    throw new Error('The standby is not synchronous')
  }
}

/** Both this process and the user of the servers need access. */
async function makeMemberFolder(folder: string): Promise<void> {
  await mkdir(folder)
  await chmod(folder, 0o777)
}
