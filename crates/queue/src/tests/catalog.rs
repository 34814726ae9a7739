//! Queues: creation, listing, metadata, deletion, clearing.

use super::{Rig, SECOND, account, create, name, texts};
use crate::{Created, Error};
use partita_model::{AccessPolicy, Metadata, SignedIdentifier};

fn metadata(pairs: &[(&str, &str)]) -> Metadata {
    let mut metadata = Metadata::default();
    for (name, value) in pairs {
        metadata.add(name, value).unwrap();
    }
    metadata
}

#[tokio::test]
async fn a_queue_is_created_once() {
    let rig = Rig::new().await;
    let (service, red) = (&rig.service, metadata(&[("color", "red")]));
    let created = |metadata| create(service, "new", metadata);
    assert_eq!(created(red.clone()).await.unwrap(), Created::New);
    let same = metadata(&[("Color", "red")]);
    assert_eq!(created(same).await.unwrap(), Created::Existed);
    let refused = created(Metadata::default()).await;
    assert!(matches!(refused, Err(Error::QueueAlreadyExists)));
    let queue = service.queue(&account(), &name("new")).await.unwrap();
    assert_eq!(queue.metadata, red);
}

#[tokio::test]
async fn queues_are_listed_by_prefix_in_pages() {
    let rig = Rig::new().await;
    for text in ["b-2", "b-1", "c-1", "b-3", "b10"] {
        let created = create(&rig.service, text, metadata(&[("of", text)]));
        created.await.unwrap();
    }
    let list = async |prefix: &str, from: Option<&str>, top| {
        let page = rig.service.list_queues(&account(), prefix, from, top).await;
        let page = page.unwrap();
        let names: Vec<_> = page.queues.iter().map(|queue| queue.name.clone()).collect();
        (names.join(" "), page.next)
    };
    let all = list("", None, 100).await;
    assert_eq!(all, ("b-1 b-2 b-3 b10 c-1 work".to_owned(), None));
    let first = list("b-", None, 2).await;
    assert_eq!(first, ("b-1 b-2".to_owned(), Some("b-3".to_owned())));
    assert_eq!(list("b-", Some("b-3"), 2).await, ("b-3".to_owned(), None));
    assert_eq!(list("b-", Some("a"), 1).await.0, "b-1");
    assert_eq!(list("x", None, 1).await, (String::new(), None));
}

#[tokio::test]
async fn metadata_and_policies_are_replaced() {
    let rig = Rig::new().await;
    let queue = name("work");
    let policy = SignedIdentifier {
        id: "one".into(),
        policy: AccessPolicy::default(),
    };
    let service = &rig.service;
    let (account, policies) = (account(), [policy]);
    let setting = service.set_queue_metadata(&account, &queue, metadata(&[("a", "1")]));
    setting.await.unwrap();
    let setting = service.set_access_policies(&account, &queue, &policies);
    setting.await.unwrap();
    let found = service.queue(&account, &queue).await.unwrap();
    assert_eq!(found.metadata, metadata(&[("a", "1")]));
    assert_eq!(found.policies, policies);
    assert_eq!(found.id, rig.queue.id);
    let none = name("none");
    let missing = service.set_access_policies(&account, &none, &[]);
    assert!(matches!(missing.await, Err(Error::QueueNotFound)));
}

#[tokio::test]
async fn a_cleared_queue_is_empty_and_its_rows_are_removed_later() {
    let mut rig = Rig::new().await;
    for _ in 0..600 {
        rig.put("x").await;
    }
    let hidden = rig.get(1).await.remove(0);
    let (queue, shutdown) = (name("work"), rig.tasks.shutdown());
    rig.service
        .clear_messages(&account(), &queue)
        .await
        .unwrap();
    let old = std::mem::replace(
        &mut rig.queue,
        rig.service.queue(&account(), &queue).await.unwrap(),
    );
    assert_eq!(rig.count().await, 0);
    assert!(rig.delete(&hidden).await.is_err());
    rig.put("new").await;

    let sweep = async || {
        let sweep = rig
            .service
            .dropped
            .sweep_once(rig.service.storage(), &shutdown);
        sweep.await.unwrap()
    };
    assert!(sweep().await, "late writes are possible");
    rig.clock.advance(6 * SECOND);
    assert!(!sweep().await);
    rig.queue = old;
    assert_eq!(rig.rows().await, 0);
    rig.queue = rig.service.queue(&account(), &queue).await.unwrap();
    assert_eq!(texts(&rig.get(32).await), ["new"]);
}

#[tokio::test]
async fn a_deleted_queue_is_gone_and_its_name_is_free() {
    let mut rig = Rig::new().await;
    rig.put("old").await;
    let queue = name("work");
    rig.service.delete_queue(&account(), &queue).await.unwrap();
    let missing = rig.service.queue(&account(), &queue).await;
    assert!(matches!(missing, Err(Error::QueueNotFound)));
    let again = rig.service.delete_queue(&account(), &queue).await;
    assert!(matches!(again, Err(Error::QueueNotFound)));
    let created = create(&rig.service, "work", Metadata::default());
    assert_eq!(created.await.unwrap(), Created::New);
    rig.queue = rig.service.queue(&account(), &queue).await.unwrap();
    assert!(rig.get(32).await.is_empty());
}

#[tokio::test]
async fn keys_are_decoded_into_names() {
    let rig = Rig::new().await;
    let names = rig.service.queue_names().await.unwrap();
    for key in [rig.queue.space.prefix().clone(), rig.queue.space.header()] {
        let location = names.location(&key).unwrap();
        assert_eq!(location.account, "account");
        assert_eq!(location.queue.as_deref(), Some("work"));
        assert_eq!(location.queue_id, rig.queue.id);
    }
    let entity = partita_model::TableSpace::new("account", partita_model::TableId(1));
    assert_eq!(names.location(entity.prefix()), None);
}

#[tokio::test]
async fn reports_show_the_fullest_queues_first() {
    let rig = Rig::new().await;
    create(&rig.service, "empty", Metadata::default())
        .await
        .unwrap();
    rig.put("a").await;
    rig.clock.advance(10 * SECOND);
    rig.put("b").await;
    rig.clock.advance(SECOND);
    let (reports, all) = rig.service.queue_reports(10).await.unwrap();
    let shown: Vec<_> = reports
        .iter()
        .map(|report| (&*report.queue, report.messages, report.next_message_age))
        .collect();
    assert_eq!(shown, [("work", 2, Some(11 * SECOND)), ("empty", 0, None)]);
    assert_eq!(all, 2);
    let (reports, all) = rig.service.queue_reports(1).await.unwrap();
    assert_eq!((reports.len(), all), (1, 2));
}

#[tokio::test]
async fn a_page_with_much_metadata_ends_early() {
    let rig = Rig::new().await;
    let long = "x".repeat(8_000);
    for number in 0..600 {
        let queue = format!("many-{number:03}");
        let created = create(&rig.service, &queue, metadata(&[("a", &long)]));
        created.await.unwrap();
    }
    let mut listed = 0;
    let mut from = None;
    loop {
        let account = account();
        let listing = rig
            .service
            .list_queues(&account, "many-", from.as_deref(), 5000);
        let page = listing.await.unwrap();
        assert!((1..600).contains(&page.queues.len()));
        listed += page.queues.len();
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    assert_eq!(listed, 600);
}
