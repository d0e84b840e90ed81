/** What programs read of the commands that buy: one document with `--json`, also for a refusal, and nothing else. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { tellSlow } from '../../buyer/slow-service.ts'
import { runCommand } from '../support/cli.ts'
import { startTestService } from '../support/service.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { useService } from '../support/use-service.ts'

describe('the output of the commands that buy', () => {
  const { service } = useService(() => startTestService())
  let directory: string
  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    await writeFile(join(directory, 'buyer.key'), service.buyerKey, { mode: 0o600 })
  })

  const run = (...args: string[]) =>
    runCommand(['client', ...args, '--key-file', join(directory, 'buyer.key')], {
      environment: { DATA_DIR: directory, BASE_URL: service.url },
      isTerminal: true,
    })

  it('[15.6] is with --json one document for an answer, a refusal and the purchases, without a payment', async () => {
    const sold = await run('lookup', '73848', '--json', '--quiet')
    expect([sold.code, sold.stderr]).to.deep.equal([0, ''])
    const { company } = JSON.parse(sold.text) as { company: { legal_name: string } }
    const refused = await run('lookup', '999998', '--json')
    expect(refused.code).to.equal(6)
    const refusal = JSON.parse(refused.text) as Record<string, unknown>
    expect(refusal).to.include({ company: null, http_status: 404, outcome: 'not_sold_later', charged: 'unknown' })
    expect(refusal).to.have.nested.property('error.code', 'company_not_found')
    const listed = await run('purchases', '--json')
    expect(listed.text).to.not.match(/signature|"payment"/)
    const purchases = JSON.parse(listed.text) as { file: string }[]
    expect(purchases).to.have.length(2)
    expect(purchases[0]).to.deep.include({
      operation: 'lookup',
      input: { company_number: '73848' },
      company: { company_number: '73848', legal_name: company.legal_name },
      amount: '0.001',
      outcome: 'sold',
    })
    // The file that is listed is the one that `verify` reads.
    const verified = await runCommand(['verify', purchases[0]?.file ?? '', '--json'])
    expect(verified.code).to.equal(0)
    expect(JSON.parse(verified.text)).to.include({ valid: true, issuer: service.url })
  })

  it('[14.5] has a DataError on stdout in a pipe but not on a terminal, and the help of client on a screen', async () => {
    const options = { environment: { DATA_DIR: directory, BASE_URL: service.url } }
    const args = ['client', 'lookup', '999998', '--key-file', join(directory, 'buyer.key')]
    const { code, text } = await runCommand(args, options)
    expect(code).to.equal(6)
    const refusal = JSON.parse(text) as { error: object }
    expect(refusal).to.include.keys('company', 'source', 'snapshot_id').and.include({ charged: 'unknown' })
    expect(refusal.error).to.include({ code: 'company_not_found', charged: 'unknown', next: 'exact_number' })
    expect(JSON.parse((await runCommand([...args, '--json'], options)).text)).to.deep.equal(refusal)
    const onTerminal = await runCommand(args, { ...options, isTerminal: true })
    expect([onTerminal.code, onTerminal.text]).to.deep.equal([6, ''])
    expect(onTerminal.stderr).to.match(/No company has this number\. .* Not charged, which is certain after [^\n]*\n$/)
    const { lines } = await runCommand(['client', '--help'])
    expect(lines.length).to.be.at.most(24)
    expect(lines.filter((line) => line.length > 80)).to.deep.equal([])
  })

  it('[15.6] has one value of charged, and next of the service in the error, and tells to leave out a number without a company', async () => {
    const { code, text, stderr } = await run('resolve', 'Alpha Ltd', '--number', '999998', '--json')
    expect(code).to.equal(6)
    const { error, ...others } = JSON.parse(text) as { error: object }
    expect(error).to.include({ code: 'company_not_found', charged: 'unknown', next: 'exact_number' })
    expect(others).to.include({ outcome: 'not_sold_later', charged: 'unknown', next: 'send' })
    expect(stderr).to.contain('Correct the number, or leave it out.')
    expect((await run('lookup', '999998')).stderr).to.not.contain('leave it out')
  })

  it('[12.20] says on stderr how a number with more than digits and spaces was read', async () => {
    expect((await run('lookup', 'IE 73848')).stderr).to.contain('The number "IE 73848" is read as 73848.\n')
    expect((await run('lookup', ' 73 848 ')).stderr).to.not.contain('is read as')
  })

  it('[14.7] names the URL of the service, if that of the command is another one, and pays nothing', async () => {
    const url = service.url.replace('127.0.0.1', 'localhost')
    const advice = `The service names its URL as ${service.url}: if that is the right one, add --url ${service.url}.\n`
    const options = {
      environment: { DATA_DIR: directory },
      fetch: (input: Parameters<typeof fetch>[0], init?: RequestInit) =>
        fetch(new Request(input).url.replace(url, service.url), init),
    }
    const key = ['--key-file', join(directory, 'buyer.key')]
    const sent = await service.transfersOf(async () => {
      const refused = await runCommand(['client', 'lookup', '1001', '--url', url, ...key], options)
      expect([refused.code, refused.text]).to.deep.equal([1, ''])
      expect(refused.stderr).to.contain(advice)
    })
    expect(sent).to.equal(0)
    const card = await runCommand(['client', 'verify-card', '--url', url], options)
    expect([card.code, card.text, card.stderr]).to.deep.equal([1, 'The agent card has no valid signature.', advice])
  })

  it('says that a company with a similar name is not there', async () => {
    const { text } = await run('search', 'qqqqqqqqqqqq')
    expect(text).to.equal('No company has such a name.')
  })

  it('tells once of a service that is silent, until it answers', async () => {
    const notes: string[] = []
    const [url, calls] = ['http://service.example/x', [] as (() => void)[]]
    const silent = tellSlow({
      fetch: async () => new Response(),
      note: (line) => void notes.push(line),
      later: (_milliseconds, callback) => (calls.push(callback), () => undefined),
    })
    const pending = [silent(url), silent(url)]
    for (const call of calls) call()
    expect(notes).to.have.length(1)
    expect(notes[0]).to.match(/^http:\/\/service\.example has not answered for 10 s\./)
    await Promise.all(pending)
    const later = silent(url)
    calls.at(-1)?.()
    await later
    expect(notes).to.have.length(2)
  })
})
