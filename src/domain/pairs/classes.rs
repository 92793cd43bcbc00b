//! Closed lists of names of which a thing has one: another name from the same list is another value.

use std::sync::LazyLock;

use super::words::Words;

/// What lists a name is on, one bit each: `redis` is a database and a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Classes(u32);

impl Classes {
    /// Whether two names are on one list.
    pub(super) const fn share(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it says where something runs: a system or an architecture.
    pub(super) const fn is_platform(self) -> bool {
        self.0 & PLATFORMS != 0
    }
}

struct Name {
    classes: u32,
    canonical: &'static str,
    /// Also a common English word: a name only with a capital inside a sentence, or as code.
    is_word: bool,
}

/// The lists a word is on, and the one spelling of its name. `is_marked` says that it is written as a name.
pub(super) fn class_of(word: &str, is_marked: bool) -> Option<(Classes, &'static str)> {
    static NAMES: LazyLock<Words<&str, Name>> = LazyLock::new(read);
    if word.len() > LONGEST_NAME {
        return None;
    }
    let name = if word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        NAMES.get(word)
    } else {
        let bare: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        NAMES.get(bare.as_str())
    }?;
    (is_marked || !name.is_word).then_some((Classes(name.classes), name.canonical))
}

fn read() -> Words<&'static str, Name> {
    let mut names: Words<&str, Name> = Words::default();
    for (bit, (_, list)) in LISTS.iter().enumerate() {
        for entry in list.split(',') {
            let mut spellings = entry.split_whitespace();
            let canonical = spellings.clone().next().unwrap_or_default().trim_start_matches('^');
            for spelling in spellings.by_ref() {
                let word = spelling.trim_start_matches('^');
                let is_word = word != spelling;
                names.entry(word).or_insert(Name { classes: 0, canonical, is_word }).classes |= 1 << bit;
            }
        }
    }
    names
}

/// `fortnightly`, with room for punctuation.
const LONGEST_NAME: usize = 16;
/// The places of `systems` and `architectures` in the lists.
const PLATFORMS: u32 = 0b11;

/// Names by list; other spellings of one stand behind it, without punctuation. `^` marks a common English word.
const LISTS: &[(&str, &str)] = &[
    (
        "systems",
        "linux, macos osx darwin, windows, ubuntu, debian, alpine, centos, rhel, fedora, freebsd, openbsd, netbsd, \
         android, ios, nixos, archlinux, suse opensuse, solaris, illumos",
    ),
    (
        "architectures",
        "x8664 amd64 x64, arm64 aarch64, armv7 armhf, riscv64 riscv, i386 i686 x86, wasm32 wasm, ppc64le, s390x, mips",
    ),
    (
        "databases",
        "postgres postgresql, mysql, mariadb, sqlite sqlite3, mongodb mongo, redis, cassandra, dynamodb, cockroachdb, \
         duckdb, clickhouse, elasticsearch, opensearch, ^oracle, mssql sqlserver, couchdb, neo4j, memcached memcache, \
         rocksdb, leveldb, lmdb, influxdb, timescaledb timescale, bigquery, ^snowflake, redshift, etcd, valkey, \
         scylladb, firestore, tidb, hbase, sled, keydb, foundationdb, hazelcast, meilisearch, typesense, solr, qdrant, \
         milvus, pinecone, weaviate, pgvector, lucene, tantivy",
    ),
    (
        "brokers",
        "kafka, rabbitmq, nats, sqs, pulsar, activemq, redis, mosquitto, zeromq zmq, sns, kinesis, eventbridge, \
         pubsub, redpanda, nsq, artemis",
    ),
    (
        "formats",
        "json, yaml yml, toml, xml, csv, tsv, ini, protobuf protobufs, msgpack messagepack, avro, parquet, cbor, bson, \
         ndjson jsonl, thrift, flatbuffers, capnproto, html, markdown, pdf, png, jpeg jpg, webp, avif, gif, svg, \
         ^arrow, bincode, ^pickle, hcl, json5, asciidoc, mp4, webm, ^orc",
    ),
    (
        "encodings",
        "utf8, utf16, utf32, latin1 iso88591, ascii, base64, base64url, base32, base58, ^hex, windows1252 cp1252, \
         ebcdic",
    ),
    ("compressions", "gzip gz, zstd zstandard, brotli, lz4, snappy, ^deflate, bzip2, xz, lzma, zlib"),
    (
        "hashes",
        "md5, sha1, sha224, sha256, sha384, sha512, sha3, blake2 blake2b blake2s, blake3, bcrypt, scrypt, argon2 \
         argon2id argon2i, pbkdf2, crc32, crc32c, adler32, xxhash xxh3 xxh64, murmur3 murmurhash, siphash, fnv fnv1a, \
         cityhash, ahash, fxhash",
    ),
    (
        "signatures and ciphers",
        "rs256, rs512, hs256, hs512, es256, ed25519, rsa, ecdsa, eddsa, hmac, aes, aes128, aes256, chacha20, des, 3des",
    ),
    (
        "protocols",
        "http, https, http1 http11, http2 h2, http3 h3, grpc, ^rest restful, graphql, soap, websocket websockets, sse, \
         mqtt, amqp, tcp, udp, quic, ftp, sftp, ssh, smtp, imap, stdio, ldap, oauth oauth2, saml, oidc, jsonrpc, \
         xmlrpc, webrtc, ipv4, ipv6, stomp, coap, kerberos, telnet, rdp, dbus, webtransport",
    ),
    (
        "package managers",
        "npm, yarn, pnpm, bun, pip, poetry, uv, conda, pipenv, cargo, maven mvn, gradle, bundler, ^composer, apt aptget, \
         brew homebrew, ^nix, sbt, pdm, yum, dnf, apk, pacman, vcpkg, ^conan, cocoapods, nuget, cabal",
    ),
    (
        "build tools",
        "cmake, bazel, ninja, meson, gradle, maven mvn, webpack, vite, esbuild, rollup, turbopack, rspack, swc, tsc, \
         babel, ^make, scons",
    ),
    (
        "web frameworks",
        "react reactjs, vue vuejs, angular, svelte, django, ^flask, fastapi, ^rails, laravel, ^spring springboot, \
         ^express expressjs, axum, actix actixweb, nextjs, nuxt, ^remix, gin, koa, fastify, hono, nestjs, preact, ember, \
         starlette, tornado, sinatra, symfony, warp, solidjs, htmx, jquery",
    ),
    ("async runtimes", "tokio, asyncstd, smol, asyncio, trio, gevent, twisted"),
    (
        "test frameworks",
        "jest, vitest, mocha, pytest, unittest, junit, testng, playwright, ^cypress, selenium, puppeteer, rspec, \
         minitest, jasmine, nextest, catch2, googletest gtest",
    ),
    (
        "object mappers",
        "sqlalchemy, prisma, drizzle, diesel, sqlx, typeorm, sequelize, hibernate, activerecord, seaorm, gorm, knex, \
         kysely, mongoose, peewee",
    ),
    (
        "user interfaces",
        "electron, tauri, ^qt, gtk, swiftui, uikit, tailwind, ^bootstrap, flutter, reactnative",
    ),
    (
        "languages",
        "^rust, ^go golang, python, java, javascript js, typescript ts, ^ruby, kotlin, ^swift, scala, elixir, erlang, \
         haskell, php, ^perl, lua, bash, zsh, powershell, ^dart, ocaml, clojure, ^zig",
    ),
    ("runtimes", "nodejs ^node, deno, bun, jvm, cpython, pypy, graalvm"),
    (
        "types",
        "int, integer, bigint, smallint, uuid, varchar, float, decimal, boolean bool, string, jsonb, bytea, bigserial, \
         serial, ^none, null, nan",
    ),
    (
        "weekdays",
        "monday mondays, tuesday tuesdays, wednesday wednesdays, thursday thursdays, friday fridays, saturday \
         saturdays, sunday sundays",
    ),
    (
        "months",
        "january, february, ^march, april, ^may, june, july, august, september, october, november, december",
    ),
    ("periods", "hourly, daily, weekly, biweekly fortnightly, monthly, quarterly, yearly annually annual"),
    (
        "colours",
        "red, green, blue, yellow, orange, purple violet, black, white, grey gray, pink, cyan, magenta, brown",
    ),
    ("log levels", "^trace, ^debug, ^info, ^warn ^warning, ^error, ^fatal"),
    ("clouds", "aws, gcp, azure, hetzner, digitalocean, heroku, vercel, netlify, cloudflare, linode"),
    (
        "code hosts and builders",
        "github, gitlab, bitbucket, gitea, jenkins, circleci, travis, buildkite, teamcity",
    ),
    ("proxies", "nginx, ^apache, caddy, envoy, traefik, haproxy"),
    ("orchestrators and containers", "kubernetes k8s, nomad, docker, podman, containerd, lxc, systemd"),
    (
        "linters and formatters",
        "eslint, biome, prettier, ruff, flake8, pylint, isort, clippy, mypy, pyright, rubocop, golangcilint",
    ),
    (
        "observability",
        "prometheus, datadog, graphite, statsd, sentry, newrelic, jaeger, zipkin, loki, splunk",
    ),
];

#[cfg(test)]
mod tests {
    use super::{LISTS, PLATFORMS, class_of};

    #[test]
    fn every_list_has_a_bit_and_platforms_come_first() {
        assert!(LISTS.len() <= 32);
        assert_eq!((LISTS[0].0, LISTS[1].0, PLATFORMS), ("systems", "architectures", 3));
    }

    #[test]
    fn spellings_of_a_name_are_one_and_words_need_a_mark() {
        let of = |word| class_of(word, false).map(|(_, name)| name);
        assert_eq!(
            [of("postgresql"), of("sha-256"), of("x86_64")],
            [Some("postgres"), Some("sha256"), Some("x8664")]
        );
        assert_eq!((of("express"), class_of("express", true).is_some()), (None, true));
        let share = |a, b| match (class_of(a, true), class_of(b, true)) {
            (Some((a, _)), Some((b, _))) => a.share(b),
            _ => false,
        };
        assert!(share("redis", "kafka") && share("redis", "postgres") && !share("kafka", "postgres"));
    }
}
